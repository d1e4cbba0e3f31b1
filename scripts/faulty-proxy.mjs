import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/**
 * A TCP proxy that injects network faults:
 *
 * - `cut` breaks about 70 % of the connections.
 * - `delay` delays all data for a while.
 * - `blackHole` drops all data for a while with the connections open. Then it breaks them, because data is missing.
 * - `cutAfter` breaks each connection after a random number of bytes, possibly within a command or a reply.
 * - `cutCommit` breaks the next connection that sends a commit: within the command, before it, or after it and before the reply.
 *
 * @typedef {"cut" | "delay" | "blackHole" | "cutAfter" | "cutCommit"} Fault
 * @typedef {import("node:net").Socket} Socket
 * @typedef {{ readonly client: Socket, readonly server: Socket, left: number }} Link
 */

const HOST = "127.0.0.1";
/** @type {readonly Fault[]} */
export const FAULTS = ["cut", "delay", "blackHole", "cutAfter", "cutCommit"];
/** The bytes of a commit in the protocols of PostgreSQL and of the Redis store. */
const COMMITS = [Buffer.from("COMMIT\0"), Buffer.from("\r\ncommit\r\n")];
const DELAY_MS = { least: 5, most: 150 };
const FAULT_MS = { least: 200, most: 1_500 };
const BYTES_MAX = 6_000;

/** @param {number} port Of the server. */
export async function startFaultyProxy(port) {
  const proxy = new FaultyProxy(port);
  await proxy.listen();
  return proxy;
}

/** Forwards data between clients and a server, with the faults described above. */
export class FaultyProxy {
  /** The number of injected faults, by kind. */
  done = { cut: 0, delay: 0, blackHole: 0, cutAfter: 0, cutCommit: 0 };
  #serverPort;
  /** @type {Set<Link>} */
  #links = new Set();
  #listener = createServer((client) => this.#accept(client));
  #delayMs = 0;
  #dropsAll = false;
  #cutsCommit = false;

  /** @param {number} serverPort */
  constructor(serverPort) {
    this.#serverPort = serverPort;
  }

  get port() {
    const address = this.#listener.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  async listen() {
    this.#listener.listen(0, HOST);
    await once(this.#listener, "listening");
  }

  /** Resolves when the fault has ended. @param {Fault} fault */
  async inject(fault) {
    switch (fault) {
      case "cut":
        this.done.cut += 1;
        for (const link of [...this.#links]) if (Math.random() < 0.7) this.#break(link);
        return;
      case "delay":
        this.done.delay += 1;
        this.#delayMs = between(DELAY_MS);
        await delay(between(FAULT_MS));
        this.#delayMs = 0;
        return;
      case "blackHole":
        this.done.blackHole += 1;
        this.#dropsAll = true;
        await delay(between(FAULT_MS));
        for (const link of [...this.#links]) this.#break(link);
        this.#dropsAll = false;
        return;
      case "cutAfter":
        for (const link of this.#links) link.left = 1 + Math.floor(Math.random() * BYTES_MAX);
        return;
      case "cutCommit":
        this.#cutsCommit = true;
        return;
    }
  }

  /** Ends the faults `cutAfter` and `cutCommit`. */
  passAll() {
    this.#cutsCommit = false;
    for (const link of this.#links) link.left = Number.POSITIVE_INFINITY;
  }

  async stop() {
    this.#listener.close();
    for (const link of [...this.#links]) this.#break(link);
  }

  /** @param {Socket} client */
  #accept(client) {
    const server = connect(this.#serverPort, HOST);
    /** @type {Link} */
    const link = { client, server, left: Number.POSITIVE_INFINITY };
    this.#links.add(link);
    this.#pump(link, client, server);
    this.#pump(link, server, client);
  }

  /** Delayed data keeps its order. @param {Link} link @param {Socket} from @param {Socket} to */
  #pump(link, from, to) {
    let last = Promise.resolve();
    from.on("data", (data) => {
      if (this.#dropsAll) return;
      const delayMs = this.#delayMs;
      last = last.then(async () => {
        if (delayMs > 0) await delay(delayMs);
        if (this.#links.has(link)) this.#pass(link, to, data);
      });
    });
    from.on("error", () => this.#break(link));
    from.on("close", () => last.then(() => this.#break(link)));
  }

  /** @param {Link} link @param {Socket} to @param {Buffer} data */
  #pass(link, to, data) {
    const at = to === link.server && this.#cutsCommit ? indexOfCommit(data) : -1;
    if (at >= 0) {
      this.#cutsCommit = false;
      this.done.cutCommit += 1;
      const length = [at + 3, 0, data.length][Math.floor(Math.random() * 3)] ?? 0;
      this.#writeLast(link, to, data.subarray(0, length));
    } else if (data.length < link.left) {
      link.left -= data.length;
      to.write(data);
    } else {
      this.done.cutAfter += 1;
      this.#writeLast(link, to, data.subarray(0, link.left));
    }
  }

  /** Writes the data and breaks the connection. @param {Link} link @param {Socket} to @param {Buffer} data */
  #writeLast(link, to, data) {
    this.#links.delete(link);
    to.write(data, () => this.#break(link));
  }

  /** @param {Link} link */
  #break(link) {
    this.#links.delete(link);
    link.client.destroy();
    link.server.destroy();
  }
}

/** @param {Buffer} data */
function indexOfCommit(data) {
  return Math.max(...COMMITS.map((commit) => data.indexOf(commit)));
}

/** @param {{ least: number, most: number }} range */
function between({ least, most }) {
  return least + Math.random() * (most - least);
}
