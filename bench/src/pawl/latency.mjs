import { workflow } from "pawl";
import { openRows } from "../raw/rows.mjs";
import { median, pause, quantile } from "../stats.mjs";
import { openEngine } from "./engine.mjs";

/** W3: an idle engine executes runs of one step, one at a time, with a raw commit between them. */

/** The number of first runs that are also reported. */
const COLD_RUNS = 100;

/**
 * Measures a process after its warm-up, when the code is compiled.
 *
 * @param {{ place: import("../place.mjs").Place, runs: number, warmRuns: number }} options
 */
export async function measure({ place, runs, warmRuns }) {
  let ranAt = 0;
  const one = workflow("one", async (ctx) => {
    return await ctx.step("only", async () => {
      ranAt = performance.now();
      return { ok: true };
    });
  });
  const engine = await openEngine(place, [one]);
  const cold = [];
  for (let n = 0; n < warmRuns; n += 1) {
    const startedAt = performance.now();
    await (await engine.start(one, { id: n })).result();
    if (n < COLD_RUNS) cold.push(performance.now() - startedAt);
  }
  const rows = await openRows(place);
  const ran = [];
  const seen = [];
  const commits = [];
  for (let n = 0; n < runs; n += 1) {
    await pause(5 + (n % 10) * 5);
    const startedAt = performance.now();
    const run = await engine.start(one, { id: n });
    await run.result();
    seen.push(performance.now() - startedAt);
    ran.push(ranAt - startedAt);
    await pause(5 + ((n * 7) % 10) * 5);
    commits.push(await rows.commit());
  }
  await engine.shutdown();
  await rows.close();
  return {
    commitMs: median(commits),
    coldMs: median(cold),
    ranMs: median(ran),
    ranP95Ms: quantile(ran, 0.95),
    resultMs: median(seen),
    resultP95Ms: quantile(seen, 0.95),
  };
}
