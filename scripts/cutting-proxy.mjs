import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * Stands between a client and a server and breaks what passes through it.
 *
 * @typedef {object} CuttingProxy
 * @property {number} port
 * @property {() => void} loseAnswers From here on the server gets everything, and the client hears nothing.
 * @property {{ readonly made: number, readonly open: number }} connections Of clients: all there were, and those that are there.
 * @property {() => void} cut Breaks every connection; the next ones pass as before.
 * @property {() => Promise<void>} stop
 */

/** @param {number} port Of the server. @returns {Promise<CuttingProxy>} */
export async function startProxy(port) {
  /** @type {Set<import("node:net").Socket>} */
  const sockets = new Set();
  let losing = false;
  const connections = { made: 0, open: 0 };
  const server = createServer((client) => {
    connections.made += 1;
    connections.open += 1;
    client.on("close", () => {
      connections.open -= 1;
    });
    const upstream = connect(port, "127.0.0.1");
    for (const [from, to, isAnswer] of /** @type {const} */ ([
      [client, upstream, false],
      [upstream, client, true],
    ])) {
      sockets.add(from);
      from.on("data", (data) => {
        if (!(isAnswer && losing)) to.write(data);
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
    losing = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    loseAnswers: () => {
      losing = true;
    },
    connections,
    cut,
    async stop() {
      server.close();
      cut();
    },
  };
}
