import { startHelper } from "../helper-process.mjs";
import { openPostgresCounter } from "../postgres-counter.mjs";
import { pause } from "../stats.mjs";
import { openEngine } from "./engine.mjs";
import { scaled } from "./scaling-worker.mjs";

/** Scaling: worker processes execute runs that a client has started. The client is closed before the measurement. */

const AT_A_TIME = 500;
const STEPS = 10;

/**
 * @param {{ place: import("../place.mjs").PostgresPlace, workers: number, runs: number, busyMs: number, concurrency: number,
 *   warmMs: number, warmSteps: number, windowMs: number }} options `warmSteps` is the number for each worker.
 */
export async function measure({ place, workers, runs, busyMs, concurrency, warmMs, warmSteps, windowMs }) {
  await leaveRuns(place, runs, busyMs);
  const started = Array.from({ length: workers }, () =>
    startHelper("pawl/scaling-worker", { place, busyMs, concurrency }),
  );
  await Promise.all(started.map((worker) => worker.received("ready")));
  const counter = await openPostgresCounter(place.url);
  for (const worker of started) worker.send({ kind: "go" });
  const ask = async () => {
    const [counts, all] = await Promise.all([
      counter.read(),
      Promise.all(
        started.map((worker) => {
          const answer = worker.received("done");
          worker.send({ kind: "count" });
          return answer;
        }),
      ),
    ]);
    return { counts, each: all, at: performance.now() };
  };
  const before = await warm(ask, { warmMs, least: warmSteps });
  await pause(windowMs);
  const after = await ask();
  await counter.close();
  const of = (/** @type {any} */ seen, /** @type {string} */ name) =>
    seen.each.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one[name], 0);
  const steps = of(after, "steps") - of(before, "steps");
  const left = runs * STEPS - of(after, "steps");
  await Promise.all(started.map((worker) => worker.stop()));
  if (left <= 0) throw new Error(`${workers} workers ran out of runs; increase \`runs\``);
  return {
    stepsPerSecond: (steps / (after.at - before.at)) * 1_000,
    workerMicrosPerStep: (of(after, "cpuMicros") - of(before, "cpuMicros")) / steps,
    serverMicrosPerStep: (after.counts.serverMicros - before.counts.serverMicros) / steps,
    commitsPerStep: (after.counts.commits - before.counts.commits) / steps,
    statementsPerStep: (after.counts.statements - before.counts.statements) / steps,
  };
}

/**
 * Waits until each worker has executed `least` steps, because a new process is slow by itself.
 *
 * @param {() => Promise<any>} ask @param {{ warmMs: number, least: number }} limits
 */
async function warm(ask, { warmMs, least }) {
  for (;;) {
    await pause(warmMs);
    const seen = await ask();
    if (seen.each.every((/** @type {any} */ { steps }) => steps >= least)) return seen;
  }
}

/** @param {import("../place.mjs").PostgresPlace} place @param {number} runs @param {number} busyMs */
async function leaveRuns(place, runs, busyMs) {
  const client = await openEngine(place, []);
  const definition = scaled(busyMs, () => undefined);
  for (let n = 0; n < runs; n += AT_A_TIME) {
    await Promise.all(Array.from({ length: Math.min(AT_A_TIME, runs - n) }, (_, k) => client.start(definition, n + k)));
  }
  await client.shutdown();
}
