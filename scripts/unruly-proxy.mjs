import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/**
 * `cut` breaks connections. `delay` lets everything wait. `blackHole` swallows everything for a while, with the connections open;
 * what was swallowed is missing, so they are broken after it. `cutAfter` breaks each connection after so many more bytes, which
 * may be in the middle of a command or of an answer. `cutCommit` breaks the next connection that says COMMIT: in the middle of
 * the word, before the server has any of it, or before the answer.
 *
 * @typedef {"cut" | "delay" | "blackHole" | "cutAfter" | "cutCommit"} Fault
 * @typedef {import("node:net").Socket} Socket
 * @typedef {{ readonly client: Socket, readonly server: Socket, left: number }} Link
 */

const HOST = "127.0.0.1";
/** @type {readonly Fault[]} */
export const FAULTS = ["cut", "delay", "blackHole", "cutAfter", "cutCommit"];
/** As PostgreSQL and the scripts of the Redis store have it. */
const COMMITS = [Buffer.from("COMMIT\0"), Buffer.from("\r\ncommit\r\n")];
const DELAY_MS = { least: 5, most: 150 };
const LASTS_MS = { least: 200, most: 1_500 };
const BYTES_MAX = 6_000;

/** @param {number} port Of the server. */
export async function startUnruly(port) {
  const proxy = new UnrulyProxy(port);
  await proxy.listen();
  return proxy;
}

/** Stands between clients and a server and does to what passes through it what networks do. */
export class UnrulyProxy {
  /** How often each has happened. */
  done = { cut: 0, delay: 0, blackHole: 0, cutAfter: 0, cutCommit: 0 };
  #serverPort;
  /** @type {Set<Link>} */
  #links = new Set();
  #listener = createServer((client) => this.#accept(client));
  #delayMs = 0;
  #swallows = false;
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

  /** Resolves when it is over. @param {Fault} fault */
  async strike(fault) {
    switch (fault) {
      case "cut":
        this.done.cut += 1;
        for (const link of [...this.#links]) if (Math.random() < 0.7) this.#break(link);
        return;
      case "delay":
        this.done.delay += 1;
        this.#delayMs = between(DELAY_MS);
        await delay(between(LASTS_MS));
        this.#delayMs = 0;
        return;
      case "blackHole":
        this.done.blackHole += 1;
        this.#swallows = true;
        await delay(between(LASTS_MS));
        for (const link of [...this.#links]) this.#break(link);
        this.#swallows = false;
        return;
      case "cutAfter":
        for (const link of this.#links) link.left = 1 + Math.floor(Math.random() * BYTES_MAX);
        return;
      case "cutCommit":
        this.#cutsCommit = true;
        return;
    }
  }

  /** Everything passes from here on. */
  calm() {
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

  /** What waits keeps its order. @param {Link} link @param {Socket} from @param {Socket} to */
  #pump(link, from, to) {
    let last = Promise.resolve();
    from.on("data", (data) => {
      if (this.#swallows) return;
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
    const at = to === link.server && this.#cutsCommit ? placeOfCommit(data) : -1;
    if (at >= 0) {
      this.#cutsCommit = false;
      this.done.cutCommit += 1;
      const much = [at + 3, 0, data.length][Math.floor(Math.random() * 3)] ?? 0;
      this.#last(link, to, data.subarray(0, much));
    } else if (data.length < link.left) {
      link.left -= data.length;
      to.write(data);
    } else {
      this.done.cutAfter += 1;
      this.#last(link, to, data.subarray(0, link.left));
    }
  }

  /** Nothing passes after this. @param {Link} link @param {Socket} to @param {Buffer} data */
  #last(link, to, data) {
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
function placeOfCommit(data) {
  return Math.max(...COMMITS.map((commit) => data.indexOf(commit)));
}

/** @param {{ least: number, most: number }} range */
function between({ least, most }) {
  return least + Math.random() * (most - least);
}
