import { startHelper } from "../helper-process.mjs";
import { pause } from "../stats.mjs";
import { warmed } from "../warm.mjs";
import { openCounter } from "./counter.mjs";
import { openEngine } from "./engine.mjs";
import { scaled } from "./scaling-worker.mjs";

/** W1c: this process starts runs of ten trivial steps and awaits their results. A worker process claims and executes them. */

const STEPS = 10;
/** Warm-up, after which the code of both processes is compiled. */
const WARM_STEPS = 20_000;

/** @param {{ place: import("../place.mjs").Place, inFlight: number, warmMs: number, windowMs: number }} options */
export async function measure({ place, inFlight, warmMs, windowMs }) {
  const definition = scaled(0, () => undefined);
  const client = await openEngine(place, []);
  const counter = await openCounter(place, false);
  const worker = startHelper("pawl/scaling-worker", { place, busyMs: 0 });
  await worker.received("ready");
  worker.send({ kind: "go" });
  let [started, ended, isRunning] = [0, 0, true];
  const callers = Array.from({ length: inFlight }, async () => {
    while (isRunning) {
      const run = await client.start(definition, started);
      started += 1;
      await run.result();
      ended += 1;
    }
  });
  await warmed(() => ended * STEPS, { warmMs, least: WARM_STEPS });
  const before = await read(worker, counter);
  await pause(windowMs);
  const after = await read(worker, counter);
  isRunning = false;
  await Promise.all(callers);
  await client.shutdown();
  await worker.stop();
  await counter.close();
  const done = after.worker.steps - before.worker.steps;
  return {
    stepsPerSecond: (done / (after.at - before.at)) * 1_000,
    workerMicrosPerStep: (after.worker.cpuMicros - before.worker.cpuMicros) / done,
    clientMicrosPerStep: (after.clientMicros - before.clientMicros) / done,
    serverMicrosPerStep: (after.counts.serverMicros - before.counts.serverMicros) / done,
    statementsPerStep: (after.counts.statements - before.counts.statements) / done,
  };
}

/**
 * @param {import("../helper-process.mjs").HelperProcess} worker
 * @param {import("./counter.mjs").Counter} counter
 */
async function read(worker, counter) {
  const answer = worker.received("done");
  worker.send({ kind: "count" });
  const [seen, counts] = [await answer, await counter.read()];
  const { user, system } = process.cpuUsage();
  return { worker: seen, counts, clientMicros: user + system, at: performance.now() };
}
