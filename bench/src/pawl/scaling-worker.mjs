import { workflow } from "pawl";
import { openEngine } from "./engine.mjs";

/** One worker of the scaling workload. */

const NAMES = Array.from({ length: 10 }, (_, step) => `step-${step}`);

/** Ten steps, each of which uses `busyMs` of CPU time. @param {number} busyMs @param {() => void} did */
export function scaled(busyMs, did) {
  return workflow("scaled", async (ctx) => {
    for (let step = 0; step < NAMES.length; step += 1) {
      await ctx.step(NAMES[step], async () => {
        if (busyMs > 0) burn(busyMs);
        did();
        return { step, ok: true };
      });
    }
    return { done: true };
  });
}

/** Uses CPU time, so that other processes on the core do not count. @param {number} ms */
export function burn(ms) {
  const before = process.cpuUsage();
  let sum = 0;
  for (;;) {
    for (let n = 0; n < 2_000; n += 1) sum += Math.sqrt(sum + n);
    const { user, system } = process.cpuUsage(before);
    if (user + system >= ms * 1_000) return;
  }
}

/** @param {{ place: import("../place.mjs").Place, busyMs: number, concurrency: number }} options @param {any} talk */
export async function runHelper({ place, busyMs, concurrency }, { on, received, send, stopped }) {
  let steps = 0;
  const definition = scaled(busyMs, () => {
    steps += 1;
  });
  on("count", () => {
    const { user, system } = process.cpuUsage();
    send({ kind: "done", steps, cpuMicros: user + system });
  });
  send({ kind: "ready" });
  await received("go");
  await openEngine(place, [definition], { concurrency });
  // The process exits without waiting for the remaining runs.
  await stopped;
}
