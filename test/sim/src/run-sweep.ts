import { loadPawl } from "./engine-under-test.ts";
import { addMatrix, type Matrix, printedMatrix } from "./fault-matrix.ts";
import type { Failure, Job } from "./job.ts";
import type { SimOptions } from "./options.ts";
import { Pool } from "./process-pool.ts";
import { printProgress } from "./progress.ts";
import { explain } from "./run-seeds.ts";
import type { SimCase } from "./sim-case.ts";
import { simulate } from "./simulate.ts";
import { SWEEP_SEEDS, sweepCase, sweepCases } from "./sweep.ts";

const CHUNK = 40;

/** Injects every fault into every store call of each program, one at a time. No simulation may fail. */
export async function runSweep(options: SimOptions): Promise<boolean> {
  const pawl = await loadPawl(options.dist);
  const counted: Array<{ readonly plan: SimCase; readonly calls: number }> = [];
  for (const seed of SWEEP_SEEDS) {
    const plan = sweepCase(seed);
    const { calls, violations } = await simulate(pawl, plan);
    if (violations[0] !== undefined) {
      await explain({ plan, violation: violations[0] }, options);
      return false;
    }
    counted.push({ plan, calls });
  }
  const failures: Failure[] = [];
  const matrix: Matrix = {};
  let done = 0;
  const pool = new Pool(options.workers);
  await pool.run(jobs(counted, options.dist), (result) => {
    done += result.done;
    addMatrix(matrix, result.matrix);
    failures.push(...result.failures);
    printProgress(`${done} faults injected, ${failures.length} failed`);
    return failures.length > 0 ? "enough" : "on";
  });
  pool.close();
  console.log(printedMatrix(matrix));
  for (const failure of failures.slice(0, 1)) {
    console.log(`forced: ${JSON.stringify(failure.plan.forced)}`);
    await explain(failure, options);
  }
  console.log(`${done} faults injected into ${counted.length} programs, ${failures.length} failed`);
  return failures.length === 0;
}

function* jobs(
  counted: ReadonlyArray<{ readonly plan: SimCase; readonly calls: number }>,
  dist: string | null,
): Generator<Job> {
  let cases: SimCase[] = [];
  for (const { plan, calls } of counted) {
    for (const next of sweepCases(plan, calls)) {
      cases.push(next);
      if (cases.length < CHUNK) continue;
      yield { kind: "cases", dist, cases };
      cases = [];
    }
  }
  if (cases.length > 0) yield { kind: "cases", dist, cases };
}
