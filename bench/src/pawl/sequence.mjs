import { workflow } from "pawl";
import { openRows } from "../raw/rows.mjs";
import { median, quantile } from "../stats.mjs";
import { openEngine } from "./engine.mjs";

/** W2: one run of many steps in sequence. Each tenth step makes a raw commit and is not timed. */

/** Warm-up, after which the code is compiled. The raw table has many thousand rows by then. */
const WARM_STEPS = 3_000;

/** @param {{ place: import("../place.mjs").Place, steps: number }} options */
export async function measure({ place, steps }) {
  const rows = await openRows(place);
  let commits = [];
  let marks = [];
  const sequence = workflow("sequence", async (ctx, count) => {
    for (let step = 0; step < count; step += 1) {
      await ctx.step(`step-${step}`, async () => {
        marks.push(performance.now());
        if (step % 10 === 9) commits.push(await rows.commit());
        return { step, ok: true };
      });
    }
  });
  const engine = await openEngine(place, [sequence]);
  await (await engine.start(sequence, WARM_STEPS)).result();
  [marks, commits] = [[], []];
  await (await engine.start(sequence, steps)).result();
  await engine.shutdown();
  await rows.close();
  const took = marks
    .slice(1)
    .map((at, index) => at - marks[index])
    .filter((_, index) => index % 10 !== 9);
  const quarter = Math.floor(took.length / 4);
  return {
    commitMs: median(commits),
    stepMs: median(took),
    stepP95Ms: quantile(took, 0.95),
    growth: median(took.slice(-quarter)) / median(took.slice(0, quarter)),
  };
}
