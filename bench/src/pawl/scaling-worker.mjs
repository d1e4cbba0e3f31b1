import { workflow } from "pawl";
import { openEngine } from "./engine.mjs";

/** One worker of the scaling workload. */

const NAMES = Array.from({ length: 10 }, (_, step) => `step-${step}`);

/** Ten steps, each of which keeps the core busy for so long. @param {number} busyMs @param {() => void} did */
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

/** CPU time, not time: what a neighbour takes of the core is not work. @param {number} ms */
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
export async function takePart({ place, busyMs, concurrency }, { on, heard, tell, stopped }) {
  let steps = 0;
  const definition = scaled(busyMs, () => {
    steps += 1;
  });
  on("count", () => {
    const { user, system } = process.cpuUsage();
    tell({ kind: "done", steps, cpuMicros: user + system });
  });
  tell({ kind: "ready" });
  await heard("go");
  await openEngine(place, [definition], { concurrency });
  // The rest of the runs is of no interest: the process ends with them.
  await stopped;
}
