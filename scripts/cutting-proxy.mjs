import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * A TCP proxy between a client and a server that drops replies and breaks connections on request.
 *
 * @typedef {object} CuttingProxy
 * @property {number} port
 * @property {() => void} dropReplies From now on requests reach the server, and replies do not reach the client.
 * @property {{ readonly made: number, readonly open: number }} connections The number of client connections: all that were made, and those open now.
 * @property {() => void} cut Breaks every connection. Later connections work normally.
 * @property {() => Promise<void>} stop
 */

/** @param {number} port Of the server. @returns {Promise<CuttingProxy>} */
export async function startProxy(port) {
  /** @type {Set<import("node:net").Socket>} */
  const sockets = new Set();
  let dropsReplies = false;
  const connections = { made: 0, open: 0 };
  const server = createServer((client) => {
    connections.made += 1;
    connections.open += 1;
    client.on("close", () => {
      connections.open -= 1;
    });
    const upstream = connect(port, "127.0.0.1");
    for (const [from, to, isReply] of /** @type {const} */ ([
      [client, upstream, false],
      [upstream, client, true],
    ])) {
      sockets.add(from);
      from.on("data", (data) => {
        if (!(isReply && dropsReplies)) to.write(data);
      });
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const cut = () => {
    dropsReplies = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    dropReplies: () => {
      dropsReplies = true;
    },
    connections,
    cut,
    async stop() {
      server.close();
      cut();
    },
  };
}
