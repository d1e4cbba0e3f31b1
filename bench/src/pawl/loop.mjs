import { workflow } from "pawl";
import { median } from "../stats.mjs";
import { openEngine } from "./engine.mjs";

/** W5loop: iterations of a step and a short sleep on one run. A long history must not slow them down. */

/** @param {{ place: import("../place.mjs").Place, rounds: number, runs: number }} options */
export async function measure({ place, rounds, runs }) {
  /** @type {number[]} */
  let marks = [];
  const loop = workflow("loop", async (ctx, count) => {
    for (let round = 0; round < count; round += 1) {
      marks.push(performance.now());
      await ctx.step(`step-${round}`, async () => ({ round, ok: true }));
      await ctx.sleep(1);
    }
    marks.push(performance.now());
  });
  const engine = await openEngine(place, [loop]);
  await (await engine.start(loop, rounds)).result();
  const tenth = Math.floor(rounds / 10);
  const first = [];
  const last = [];
  const all = [];
  const growths = [];
  for (let n = 0; n < runs; n += 1) {
    marks = [];
    await (await engine.start(loop, rounds)).result();
    const took = marks.slice(1).map((at, index) => at - marks[index]);
    // Each run is compared with itself, because the speed of the disk varies.
    growths.push(median(took.slice(-tenth)) / median(took.slice(0, tenth)));
    first.push(...took.slice(0, tenth));
    last.push(...took.slice(-tenth));
    all.push(...took);
  }
  await engine.shutdown();
  return { roundMs: median(all), firstMs: median(first), lastMs: median(last), growth: median(growths) };
}
