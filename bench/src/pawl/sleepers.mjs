import { workflow } from "pawl";
import { median, quantile } from "../stats.mjs";
import { openEngine } from "./engine.mjs";

/** W4s: runs sleep for a second. Measures how late their code resumes. */

/** Warm-up, because uncompiled code is late. */
const WARM_ROUNDS = 10;

/** @param {{ place: import("../place.mjs").Place, runs: number }} options */
export async function measure({ place, runs }) {
  /** @type {number[]} */
  let late = [];
  const sleeper = workflow("sleeper", async (ctx, sleepMs) => {
    const dueAt = ctx.now() + sleepMs;
    await ctx.sleep(sleepMs);
    late.push(performance.timeOrigin + performance.now() - dueAt);
  });
  const engine = await openEngine(place, [sleeper]);
  const sleepAll = async (sleepMs) => {
    late = [];
    const started = await Promise.all(Array.from({ length: runs }, () => engine.start(sleeper, sleepMs)));
    await Promise.all(started.map((run) => run.result()));
  };
  for (let n = 0; n < WARM_ROUNDS; n += 1) await sleepAll(100);
  await sleepAll(1_000);
  await engine.shutdown();
  return { lateMs: median(late), lateP95Ms: quantile(late, 0.95), lateP99Ms: quantile(late, 0.99) };
}
