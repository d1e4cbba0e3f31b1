import { AsyncLocalStorage } from "node:async_hooks";
import { pause, workOver } from "../stats.mjs";

/**
 * The raw limit of an engine without a database: plain asynchronous functions of ten steps, `inFlight` in parallel. Each step awaits its
 * body, encodes the result and keeps it with its name and the time. Each run ends with a turn of the event loop. `watched` adds an
 * `AsyncLocalStorage`, which the engine uses to attribute unhandled rejections to runs.
 */

const NAMES = Array.from({ length: 10 }, (_, step) => `step-${step}`);

/** @param {{ inFlight: number, warmMs: number, windowMs: number, watched?: boolean }} options */
export async function measure({ inFlight, warmMs, windowMs, watched = false }) {
  if (watched) new AsyncLocalStorage().run(null, () => undefined);
  let [steps, runs, isRunning] = [0, 0, true];
  const ten = async (ctx) => {
    for (let step = 0; step < NAMES.length; step += 1) {
      await ctx.step(NAMES[step], async () => {
        steps += 1;
        return { step, ok: true };
      });
    }
    return { done: true };
  };
  const clients = Array.from({ length: inFlight }, async () => {
    while (isRunning) {
      const journal = [];
      runs += 1;
      await ten({
        async step(location, body) {
          const value = await body();
          journal.push({ location, kind: "step", payload: JSON.stringify(value), at: Date.now() });
          return value;
        },
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  await pause(warmMs);
  const { done, perSecond, cpuMicros } = await workOver({ count: () => steps, windowMs });
  isRunning = false;
  await Promise.all(clients);
  return { stepsPerSecond: perSecond, cpuMicrosPerStep: cpuMicros / done, runs };
}
