import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Failure, Job } from "./job.ts";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import type { SimOptions } from "./options.ts";
import { occurrences, plant } from "./plant.ts";
import { Pool } from "./pool.ts";
import { printProgress } from "./progress.ts";
import { REGRESSIONS, regressionJobs } from "./regressions.ts";

const SEEDS_MAX = 1000;
const CHUNK = 10;

/** Plants each bug in a copy of the engine and looks for a seed that finds it. */
export async function runMutants(asked: SimOptions): Promise<boolean> {
  const mutants = MUTANTS.filter((mutant) => `${mutant.file} ${mutant.name}`.includes(asked.only));
  let caught = 0;
  console.log(`${"mutant".padEnd(56)}${"caught by".padEnd(14)}${"seed".padStart(6)}  breaks`);
  for (const mutant of mutants) {
    printProgress(mutant.name);
    if (occurrences(mutant) !== 1) {
      console.log(`${mutant.name.padEnd(56)}its text occurs ${occurrences(mutant)} times in ${mutant.file}`);
      continue;
    }
    const failure = await firstFailure(mutant, asked);
    if (failure !== null) caught += 1;
    const by = failure === null ? "NOT CAUGHT" : failure.violation.invariant;
    console.log(
      `${mutant.name.padEnd(56)}${by.padEnd(14)}${String(failure?.plan.seed ?? "-").padStart(6)}  ${mutant.breaks}`,
    );
  }
  console.log(`${caught} of ${mutants.length} mutants caught within ${SEEDS_MAX + REGRESSIONS.length} seeds each`);
  return caught === mutants.length;
}

/** Each mutant has processes of its own: a planted bug may leave a process in a bad way. */
async function firstFailure(mutant: Mutant, asked: SimOptions): Promise<Failure | null> {
  const folder = plant(mutant);
  const pool = new Pool(asked.workers);
  let first: Failure | null = null;
  try {
    await pool.run(jobs(join(folder, "dist"), asked.from), ({ failures }) => {
      for (const failure of failures) if (first === null || failure.plan.seed < first.plan.seed) first = failure;
      return first === null ? "on" : "enough";
    });
  } finally {
    pool.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return first;
}

function* jobs(dist: string, start: number): Generator<Job> {
  yield* regressionJobs(dist);
  for (let from = start; from < start + SEEDS_MAX; from += CHUNK)
    yield { kind: "seeds", dist, kinds: "all", from, count: CHUNK, stopAtFirst: true };
}
