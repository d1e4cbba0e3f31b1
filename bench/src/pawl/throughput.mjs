import { monitorEventLoopDelay } from "node:perf_hooks";
import { workflow } from "pawl";
import { workOver } from "../stats.mjs";
import { warmed } from "../warm.mjs";
import { openCounter } from "./counter.mjs";
import { databaseBytes, openEngine } from "./engine.mjs";

/** W1: runs of ten trivial steps, with a fixed number in flight. */

/** The sampling interval of the event-loop delay, which is also its minimum. */
const DELAY_RESOLUTION_MS = 5;

/** Warm-up, after which the code is compiled. */
const WARM_STEPS = 20_000;
/** Enough steps that partial runs at the ends of the window do not matter. */
const COUNTED_STEPS = 40_000;
const NAMES = Array.from({ length: 10 }, (_, step) => `step-${step}`);

/** @param {{ place: import("../place.mjs").Place, inFlight: number, warmMs: number, windowMs: number, counting?: boolean }} options */
export async function measure({ place, inFlight, warmMs, windowMs, counting = false }) {
  let steps = 0;
  const ten = workflow("ten", async (ctx) => {
    for (let step = 0; step < NAMES.length; step += 1) {
      await ctx.step(NAMES[step], async () => {
        steps += 1;
        return { step, ok: true };
      });
    }
    return { done: true };
  });
  const counter = await openCounter(place, counting);
  const engine = await openEngine(place, [ten], counter.engineOptions);
  let runs = 0;
  let isRunning = true;
  const clients = Array.from({ length: inFlight }, async () => {
    while (isRunning) {
      const run = await engine.start(ten, { id: runs });
      runs += 1;
      await run.result();
    }
  });
  await warmed(() => steps, { warmMs, least: WARM_STEPS });
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  const countedUntil = steps + COUNTED_STEPS;
  const { done, perSecond, cpuMicros, counts } = await workOver({
    count: () => steps,
    read: counter.read,
    windowMs,
    isOver: () => counting && steps >= countedUntil,
  });
  delay.disable();
  isRunning = false;
  await Promise.all(clients);
  const settings = counter.settings();
  await engine.shutdown();
  await counter.close();
  return {
    stepsPerSecond: perSecond,
    cpuMicrosPerStep: cpuMicros / done,
    commitsPerStep: counts.commits / done,
    statementsPerStep: counts.statements / done,
    logBytesPerStep: counts.logBytes / done,
    serverMicrosPerStep: counts.serverMicros / done,
    loopDelayMs: delay.percentile(99) / 1e6 - DELAY_RESOLUTION_MS,
    bytesPerRun: (await databaseBytes(place)) / runs,
    settings,
  };
}
