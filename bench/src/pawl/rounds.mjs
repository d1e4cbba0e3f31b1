import { Loop, workflow } from "pawl";
import { median } from "../stats.mjs";
import { openEngine } from "./engine.mjs";

/** W7: many iterations of `ctx.loop` with a step each. Journal and memory of the run must not grow with them. */

/** @param {{ place: import("../place.mjs").Place, rounds: number }} options */
export async function measure({ place, rounds }) {
  const looks = 10;
  const every = rounds / looks;
  const took = new Float64Array(rounds);
  const heaps = [];
  const rows = [];
  let before = 0;
  const looping = workflow("looping", async (ctx, count) => {
    return await ctx.loop({
      name: "rounds",
      state: { sum: 0 },
      run: async (c, { sum }, round) => {
        if (round === count) return Loop.break(sum);
        const now = performance.now();
        if (round > 0) took[round - 1] = now - before;
        before = now;
        const next = await c.step("add", async () => {
          if (count === rounds && round % every === every - 1) await sample();
          return sum + 1;
        });
        return Loop.continue({ sum: next });
      },
    });
  });
  const engine = await openEngine(place, [looping]);
  const sample = async () => {
    for (let n = 0; n < 2; n += 1) globalThis.gc();
    heaps.push(process.memoryUsage().heapUsed);
    rows.push((await engine.run("measured").journal({ limit: 1_000 })).length);
  };
  await (await engine.start(looping, 2_000)).result();
  const run = await engine.start(looping, rounds, { id: "measured" });
  const sum = await run.result();
  if (sum !== rounds) throw new Error(`${rounds} iterations returned the sum ${sum}`);
  await engine.shutdown();
  const firstMs = median([...took.slice(0, every)]);
  const lastMs = median([...took.slice(-every, -1)]);
  return {
    roundMs: median([...took]),
    growth: lastMs / firstMs,
    rowsMax: Math.max(...rows),
    heapGrowth: (heaps.at(-1) ?? 0) - (heaps[0] ?? 0),
  };
}
