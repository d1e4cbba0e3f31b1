import { once } from "node:events";
import { connect, createServer } from "node:net";

/**
 * Stands between clients and a server and does to what passes through it what networks do.
 *
 * `cut` breaks connections. `delay` lets everything wait. `blackHole` swallows everything for a while, with the connections open;
 * what was swallowed is missing, so they are broken after it. `cutAfter` breaks each connection after so many more bytes, which
 * may be in the middle of a command or of an answer. `cutCommit` breaks the next connection that says COMMIT: in the middle of
 * the word, after it and before the server has it, or before the answer.
 *
 * @typedef {"cut" | "delay" | "blackHole" | "cutAfter" | "cutCommit"} Fault
 * @typedef {{ client: import("node:net").Socket, server: import("node:net").Socket, left: number }} Link
 *
 * @typedef {object} UnrulyProxy
 * @property {number} port
 * @property {Readonly<Record<Fault, number>>} done How often each has happened.
 * @property {(fault: Fault) => Promise<void>} strike Resolves when it is over.
 * @property {() => void} calm Everything passes from here on.
 * @property {() => Promise<void>} stop
 */

const HOST = "127.0.0.1";
/** @type {readonly Fault[]} */
export const FAULTS = ["cut", "delay", "blackHole", "cutAfter", "cutCommit"];
/** As PostgreSQL and the scripts of the Redis store have it. */
const COMMITS = [Buffer.from("COMMIT\0"), Buffer.from("\r\ncommit\r\n")];
const DELAY_MS = { least: 5, most: 150 };
const LASTS_MS = { least: 200, most: 1_500 };
const BYTES_MAX = 6_000;

/** @param {Buffer} data */
function placeOfCommit(data) {
  return Math.max(...COMMITS.map((commit) => data.indexOf(commit)));
}

/** @param {number} port Of the server. @param {() => number} random @returns {Promise<UnrulyProxy>} */
export async function startUnruly(port, random = Math.random) {
  /** @type {Set<Link>} */
  const links = new Set();
  const done = { cut: 0, delay: 0, blackHole: 0, cutAfter: 0, cutCommit: 0 };
  const state = { delayMs: 0, swallows: false, cutsCommit: false };
  const between = (/** @type {{ least: number, most: number }} */ { least, most }) => least + random() * (most - least);
  const wait = () => new Promise((resolve) => setTimeout(resolve, between(LASTS_MS)));

  /** @param {Link} link */
  const broken = (link) => {
    links.delete(link);
    link.client.destroy();
    link.server.destroy();
  };

  /** @param {Link} link @param {import("node:net").Socket} to @param {Buffer} data */
  const pass = (link, to, data) => {
    const at = to === link.server && state.cutsCommit ? placeOfCommit(data) : -1;
    if (at >= 0) {
      state.cutsCommit = false;
      done.cutCommit += 1;
      const much = [at + 3, 0, data.length][Math.floor(random() * 3)] ?? 0;
      if (much > 0) to.write(data.subarray(0, much), () => broken(link));
      else broken(link);
      return;
    }
    if (data.length < link.left) {
      link.left -= data.length;
      to.write(data);
      return;
    }
    done.cutAfter += 1;
    to.write(data.subarray(0, link.left), () => broken(link));
    link.left = Number.POSITIVE_INFINITY;
  };

  const listener = createServer((client) => {
    const server = connect(port, HOST);
    /** @type {Link} */
    const link = { client, server, left: Number.POSITIVE_INFINITY };
    links.add(link);
    for (const [from, to] of /** @type {const} */ ([
      [client, server],
      [server, client],
    ])) {
      // What waits keeps its order.
      let last = Promise.resolve();
      from.on("data", (data) => {
        if (state.swallows) return;
        const { delayMs } = state;
        last = last.then(async () => {
          if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
          if (links.has(link)) pass(link, to, data);
        });
      });
      from.on("error", () => broken(link));
      from.on("close", () => last.then(() => broken(link)));
    }
  });

  /** @type {Readonly<Record<Fault, () => Promise<unknown>>>} */
  const strikes = {
    async cut() {
      done.cut += 1;
      for (const link of [...links]) if (random() < 0.7) broken(link);
    },
    async delay() {
      done.delay += 1;
      state.delayMs = between(DELAY_MS);
      await wait();
      state.delayMs = 0;
    },
    async blackHole() {
      done.blackHole += 1;
      state.swallows = true;
      await wait();
      for (const link of [...links]) broken(link);
      state.swallows = false;
    },
    async cutAfter() {
      for (const link of links) link.left = 1 + Math.floor(random() * BYTES_MAX);
    },
    async cutCommit() {
      state.cutsCommit = true;
    },
  };

  listener.listen(0, HOST);
  await once(listener, "listening");
  const address = listener.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    done,
    strike: async (fault) => void (await strikes[fault]()),
    calm() {
      state.cutsCommit = false;
      for (const link of links) link.left = Number.POSITIVE_INFINITY;
    },
    async stop() {
      listener.close();
      for (const link of [...links]) broken(link);
    },
  };
}
