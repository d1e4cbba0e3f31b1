import { workflow } from "pawl";
import { median, quantile } from "../stats.mjs";
import { openEngine } from "./engine.mjs";

/** W2: one run of many steps, one after another. */

/** @param {{ folder: string, steps: number }} options */
export async function measure({ folder, steps }) {
  /** @type {number[]} */
  let doneAt = [];
  const sequence = workflow("sequence", async (ctx, count) => {
    for (let step = 0; step < count; step += 1) {
      await ctx.step(`step-${step}`, async () => {
        doneAt.push(performance.now());
        return { step, ok: true };
      });
    }
  });
  const engine = await openEngine(folder, [sequence]);
  await (await engine.start(sequence, 300)).result();
  doneAt = [];
  await (await engine.start(sequence, steps)).result();
  await engine.shutdown();
  const took = doneAt.slice(1).map((at, index) => at - doneAt[index]);
  const quarter = Math.floor(took.length / 4);
  return {
    stepMs: median(took),
    stepP95Ms: quantile(took, 0.95),
    growth: median(took.slice(-quarter)) / median(took.slice(0, quarter)),
  };
}
