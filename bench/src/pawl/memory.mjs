import { Session } from "node:inspector/promises";
import { pause } from "../stats.mjs";
import { databaseBytes, openEngine } from "./engine.mjs";
import { startSuspended, waiting } from "./suspended.mjs";

/** W6: the memory of suspended runs, hot and cold. */

const WARM_RUNS = 500;

/** @param {{ place: import("../place.mjs").Place, runs: number, hotRuns: number, idleMs: number }} options */
export async function measure({ place, runs, hotRuns, idleMs }) {
  const definition = waiting(() => undefined);
  const engine = await openEngine(place, [definition], { hotRuns });
  await warmUp(engine, definition);
  const rssBefore = collect();
  const before = await memory();
  // After half of the runs every bounded cache is full; further growth is per run.
  const half = Math.floor(runs / 2);
  await startSuspended(engine, definition, { first: WARM_RUNS, count: half, atATime: 500 });
  const early = await memory();
  await startSuspended(engine, definition, { first: WARM_RUNS + half, count: runs - half, atATime: 500 });
  // Before the memory is measured, which triggers seconds of garbage collection.
  const rssAtWork = collect();
  const idleCpu = await cpuOver(idleMs);
  const after = await memory();
  await engine.shutdown();
  return {
    heapPerRun: (after.heap - before.heap) / runs,
    rssPerRun: (after.rss - before.rss) / runs,
    rssAtWorkPerRun: (rssAtWork - rssBefore) / runs,
    heapGrowth: after.heap - early.heap,
    rssGrowth: after.rss - early.rss,
    idleCpu,
    bytesPerRun: (await databaseBytes(place)) / (runs + WARM_RUNS),
  };
}

/** The share of a core that the idle process uses. @param {number} ms */
async function cpuOver(ms) {
  const [before, beganAt] = [process.cpuUsage(), performance.now()];
  await pause(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / ((performance.now() - beganAt) * 1_000);
}

/** Warm-up: code is compiled and caches are full before memory is compared. */
async function warmUp(engine, definition) {
  await startSuspended(engine, definition, { first: 0, count: WARM_RUNS, atATime: 500 });
  await Promise.all(
    Array.from({ length: WARM_RUNS }, async (_, n) => {
      await engine.send(`run-${n}`, "go", null);
      await engine.run(`run-${n}`).result();
    }),
  );
}

/**
 * The memory of an idle process, after a collection as V8 does it about ten seconds after the work: it returns the young generation
 * (32 MB, independent of the number of runs) and free pages.
 */
async function memory() {
  collect();
  const session = new Session();
  session.connect();
  for (let n = 0; n < 4; n += 1) await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

/** Collects garbage. Returns the memory of the process after it. */
function collect() {
  for (let n = 0; n < 4; n += 1) globalThis.gc();
  return process.memoryUsage().rss;
}
