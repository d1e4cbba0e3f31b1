import { loadPawl } from "./engine-under-test.ts";
import { addMatrix, emptyCells, type Matrix, printedMatrix } from "./fault-matrix.ts";
import { generateCase } from "./generate-case.ts";
import type { Failure, Job } from "./job.ts";
import type { SimOptions } from "./options.ts";
import { Pool } from "./process-pool.ts";
import { printProgress } from "./progress.ts";
import { REGRESSION_COUNT, regressionJobs } from "./regressions.ts";
import { shrinkCase, sizeOf } from "./shrink-case.ts";
import type { SimCase } from "./sim-case.ts";
import { simulate } from "./simulate.ts";

const CHUNK = 10;
/** With at least this many seeds, every cell of the matrix must be filled. */
const MATRIX_SEEDS_MIN = 5_000;
const SEEDS_PER_MINUTE_MIN = 1000;
/** With fewer seeds the rate is not checked. */
const RATE_SEEDS_MIN = 5_000;
const TRACE_LINES = 60;

/** Executes the regressions, then the seeds of the options. Prints the failures, the fault matrix and the rate. */
export async function runSeeds(options: SimOptions): Promise<boolean> {
  const pool = new Pool(options.workers);
  const failures: Failure[] = [];
  const matrix: Matrix = {};
  let done = 0;
  let virtualMs = 0;
  const startedAt = performance.now();
  await pool.run(jobs(options), (result) => {
    done += result.done;
    virtualMs += result.virtualMs;
    addMatrix(matrix, result.matrix);
    failures.push(...result.failures);
    if (options.all) for (const failure of result.failures) console.log(printedFailure(failure));
    printProgress(`${done} of ${options.seeds + REGRESSION_COUNT} seeds, ${failures.length} failed`);
    return failures.length > 0 && !options.all ? "enough" : "on";
  });
  pool.close();
  const minutes = (performance.now() - startedAt) / 60_000;
  const rate = Math.round(done / minutes);
  console.log(printedMatrix(matrix));
  if (!options.all) for (const failure of failures.slice(0, 1)) await explain(failure, options);
  const empty = emptyCells(matrix);
  const cellsMatter = options.seeds >= MATRIX_SEEDS_MIN && failures.length === 0;
  if (empty.length > 0) console.log(`empty cells: ${empty.join(", ")}`);
  console.log(`${Math.round(virtualMs / 60_000)} virtual minutes`);
  const fast = rate >= SEEDS_PER_MINUTE_MIN || options.seeds < RATE_SEEDS_MIN || failures.length > 0;
  if (!fast) console.log(`too slow: fewer than ${SEEDS_PER_MINUTE_MIN} seeds/min`);
  const result = failures.length > 0 ? `${failures.length} of ${done} seeds FAILED` : `${done} seeds clean`;
  console.log(`${result}, ${rate} seeds/min, ${empty.length} empty cells`);
  return failures.length === 0 && fast && !(cellsMatter && empty.length > 0);
}

function printedFailure({ plan, violation }: Failure): string {
  return `seed ${plan.seed} breaks ${violation.invariant}: ${violation.text}`;
}

function* jobs(options: SimOptions): Generator<Job> {
  const { dist, kinds, all } = options;
  yield* regressionJobs(dist);
  for (let from = options.from; from < options.from + options.seeds; from += CHUNK) {
    yield {
      kind: "seeds",
      dist,
      kinds,
      from,
      count: Math.min(CHUNK, options.from + options.seeds - from),
      stopAtFirst: !all,
    };
  }
}

/** Executes one seed and prints its trace. */
export async function repeatSeed(seed: number, options: SimOptions): Promise<boolean> {
  const pawl = await loadPawl(options.dist);
  const plan = generateCase(seed, options.kinds);
  const outcome = await simulate(pawl, plan);
  const [violation] = outcome.violations;
  if (violation !== undefined) await explain({ plan, violation }, options);
  else console.log(outcome.trace.slice(-TRACE_LINES).join("\n"));
  console.log(
    `seed ${seed}: ${violation === undefined ? "clean" : violation.invariant}, ${outcome.steps} steps, ${outcome.virtualMs} virtual ms, trace ${outcome.hash.toString(16)}`,
  );
  return violation === undefined;
}

/** Prints the failure, the smallest case that still fails, and the end of its trace. */
export async function explain(failure: Failure, options: Pick<SimOptions, "dist">): Promise<void> {
  const { plan, violation } = failure;
  console.log(`\n${printedFailure(failure)}`);
  if (violation.invariant === "determinism") return;
  const pawl = await loadPawl(options.dist);
  const small = await shrinkCase(pawl, plan, violation.invariant);
  const { trace, violations } = await simulate(pawl, small);
  console.log(
    `shrunk from ${sizeOf(plan)} to ${sizeOf(small)} nodes: ${violations[0]?.text ?? "the case did not fail again"}`,
  );
  console.log(trace.slice(-TRACE_LINES).join("\n"));
  console.log(printedCase(small));
  console.log(`repeat with: npm run sim -- --seed ${plan.seed}\n`);
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
