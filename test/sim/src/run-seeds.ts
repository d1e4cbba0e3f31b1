import { loadPawl } from "./engine-under-test.ts";
import { addMatrix, emptyCells, type Matrix, printedMatrix } from "./fault-matrix.ts";
import { generateCase } from "./generate-case.ts";
import type { Failure, Job } from "./job.ts";
import type { SimOptions } from "./options.ts";
import { Pool } from "./process-pool.ts";
import { printProgress } from "./progress.ts";
import { REGRESSIONS, regressionJobs } from "./regressions.ts";
import { shrinkCase, sizeOf } from "./shrink-case.ts";
import type { SimCase } from "./sim-case.ts";
import { simulate } from "./simulate.ts";

const CHUNK = 10;
/** From so many seeds on, every cell of the matrix has to be filled. */
const MATRIX_SEEDS_MIN = 5_000;
const SEEDS_PER_MINUTE_MIN = 1000;
/** Below so many seeds a rate says little. */
const RATE_SEEDS_MIN = 5_000;
const TRACE_LINES = 60;

/** Runs the seeds that once failed, then those asked for; says what failed, what faults met, and how fast. */
export async function runSeeds(asked: SimOptions): Promise<boolean> {
  const pool = new Pool(asked.workers);
  const failures: Failure[] = [];
  const matrix: Matrix = {};
  let done = 0;
  let virtualMs = 0;
  const startedAt = performance.now();
  await pool.run(jobs(asked), (result) => {
    done += result.done;
    virtualMs += result.virtualMs;
    addMatrix(matrix, result.matrix);
    failures.push(...result.failures);
    printProgress(`${done} of ${asked.seeds + REGRESSIONS.length} seeds, ${failures.length} failed`);
    return failures.length > 0 && !asked.all ? "enough" : "on";
  });
  pool.close();
  const minutes = (performance.now() - startedAt) / 60_000;
  const rate = Math.round(done / minutes);
  console.log(printedMatrix(matrix));
  if (asked.all)
    for (const { plan, violation } of failures)
      console.log(`seed ${plan.seed} breaks ${violation.invariant}: ${violation.text}`);
  else for (const failure of failures.slice(0, 1)) await explain(failure, asked);
  const empty = emptyCells(matrix);
  const cellsMatter = asked.seeds >= MATRIX_SEEDS_MIN && failures.length === 0;
  if (empty.length > 0) console.log(`empty cells: ${empty.join(", ")}`);
  console.log(`${Math.round(virtualMs / 60_000)} virtual minutes`);
  const fast = rate >= SEEDS_PER_MINUTE_MIN || asked.seeds < RATE_SEEDS_MIN || failures.length > 0;
  if (!fast) console.log(`slower than ${SEEDS_PER_MINUTE_MIN} seeds a minute`);
  const result = failures.length > 0 ? `${failures.length} of ${done} seeds FAILED` : `${done} seeds clean`;
  console.log(`${result}, ${rate} seeds/min, ${empty.length} empty cells`);
  return failures.length === 0 && fast && !(cellsMatter && empty.length > 0);
}

function* jobs(asked: SimOptions): Generator<Job> {
  const { dist, kinds, all } = asked;
  yield* regressionJobs(dist);
  for (let from = asked.from; from < asked.from + asked.seeds; from += CHUNK) {
    yield {
      kind: "seeds",
      dist,
      kinds,
      from,
      count: Math.min(CHUNK, asked.from + asked.seeds - from),
      stopAtFirst: !all,
    };
  }
}

/** Repeats one seed and shows what happened. */
export async function repeatSeed(seed: number, asked: SimOptions): Promise<boolean> {
  const pawl = await loadPawl(asked.dist);
  const plan = generateCase(seed, asked.kinds);
  const outcome = await simulate(pawl, plan);
  const [violation] = outcome.violations;
  if (violation !== undefined) await explain({ plan, violation }, asked);
  else console.log(outcome.trace.slice(-TRACE_LINES).join("\n"));
  console.log(
    `seed ${seed}: ${violation === undefined ? "clean" : violation.invariant}, ${outcome.steps} steps, ${outcome.virtualMs} virtual ms, trace ${outcome.hash.toString(16)}`,
  );
  return violation === undefined;
}

/** Prints the failure, the smallest case that still has it, and the end of its trace. */
export async function explain({ plan, violation }: Failure, asked: Pick<SimOptions, "dist">): Promise<void> {
  console.log(`\nseed ${plan.seed} breaks ${violation.invariant}: ${violation.text}`);
  if (violation.invariant === "determinism") return;
  const pawl = await loadPawl(asked.dist);
  const small = await shrinkCase(pawl, plan, violation.invariant);
  const { trace, violations } = await simulate(pawl, small);
  console.log(
    `made small, ${sizeOf(plan)} → ${sizeOf(small)} nodes: ${violations[0]?.text ?? "it did not fail again"}`,
  );
  console.log(trace.slice(-TRACE_LINES).join("\n"));
  console.log(printedCase(small));
  console.log(`repeat it: npm run sim -- --seed ${plan.seed}\n`);
}

function printedCase({ programs, runs, actions, faultRates, workers, settings }: SimCase): string {
  const faults = Object.entries(faultRates).filter(([, rate]) => rate !== 0);
  const lines = [
    ...programs.map((program, index) => `program ${index}: ${JSON.stringify(program)}`),
    ...runs.map((run) => `run: ${JSON.stringify(run)}`),
    ...actions.map((action) => `client: ${JSON.stringify(action)}`),
    `${workers} workers, ${JSON.stringify(settings)}`,
    `faults: ${faults.length === 0 ? "none" : faults.map(([kind, rate]) => `${kind} ${rate}`).join(", ")}`,
  ];
  return lines.join("\n");
}
