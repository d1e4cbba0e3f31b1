import { builtPackage, runMutants } from "pawl-test-shared/mutants";
import type { Failure, Job } from "./job.ts";
import { MUTANTS } from "./mutants.ts";
import type { SimOptions } from "./options.ts";
import { Pool } from "./process-pool.ts";
import { printProgress } from "./progress.ts";
import { REGRESSION_COUNT, regressionJobs } from "./regressions.ts";
import { saveCase } from "./saved-cases.ts";

const SEEDS_MAX = 1000;
const CHUNK = 10;

/**
 * Plants each bug in a copy of the engine and searches for a seed that finds it. With `keep`, it searches further, and saves the case
 * of the first seed.
 */
export function runEngineMutants({ only, workers, from, keep, seeds }: SimOptions): Promise<boolean> {
  const count = keep ? seeds : SEEDS_MAX;
  return runMutants({
    mutants: MUTANTS,
    only,
    built: builtPackage("core"),
    seeds: count + REGRESSION_COUNT,
    firstFailure: async (dist, mutant) => {
      printProgress(mutant.name);
      const failure = await firstFailure(dist, workers, from, count);
      if (failure === null) return null;
      if (keep) printProgress(`saved: ${await saveCase(mutant.name, dist, failure)}`);
      return { seed: failure.plan.seed, found: `${failure.violation.invariant} (${mutant.breaks})` };
    },
  });
}

/** Each mutant gets new processes, because a planted bug may leave a process unusable. */
async function firstFailure(dist: string, workers: number, from: number, count: number): Promise<Failure | null> {
  const pool = new Pool(workers);
  let first: Failure | null = null;
  try {
    await pool.run(jobs(dist, from, count), ({ failures }) => {
      for (const failure of failures) if (first === null || failure.plan.seed < first.plan.seed) first = failure;
      return first === null ? "on" : "enough";
    });
  } finally {
    pool.close();
  }
  return first;
}

function* jobs(dist: string, start: number, count: number): Generator<Job> {
  yield* regressionJobs(dist);
  for (let from = start; from < start + count; from += CHUNK)
    yield { kind: "seeds", dist, kinds: "all", from, count: CHUNK, stopAtFirst: true };
}
