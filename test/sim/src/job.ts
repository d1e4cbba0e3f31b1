import { loadPawl, type Pawl } from "./engine-under-test.ts";
import { addMatrix, type Matrix } from "./fault-matrix.ts";
import { generateCase } from "./generate-case.ts";
import type { Kinds } from "./generate-leaves.ts";
import type { Violation } from "./monitor.ts";
import type { SimCase } from "./sim-case.ts";
import { simulate } from "./simulate.ts";

/** A part of the work, for one child process. */
export type Job =
  | {
      readonly kind: "seeds";
      readonly dist: string | null;
      readonly kinds: Kinds;
      readonly from: number;
      readonly count: number;
      readonly stopAtFirst: boolean;
    }
  | { readonly kind: "cases"; readonly dist: string | null; readonly cases: readonly SimCase[] };

export interface Failure {
  readonly plan: SimCase;
  readonly violation: Violation;
}

export interface JobResult {
  readonly done: number;
  readonly failures: readonly Failure[];
  readonly matrix: Matrix;
  readonly steps: number;
  readonly virtualMs: number;
}

/** One of this many seeds is executed twice. Both traces must be equal. */
const TWICE_EVERY = 50;

const engines = new Map<string | null, Promise<Pawl>>();

function engineOf(dist: string | null): Promise<Pawl> {
  const engine = engines.get(dist) ?? loadPawl(dist);
  engines.set(dist, engine);
  return engine;
}

export async function runJob(job: Job): Promise<JobResult> {
  const pawl = await engineOf(job.dist);
  const result = { done: 0, failures: [] as Failure[], matrix: {} as Matrix, steps: 0, virtualMs: 0 };
  const plans = job.kind === "cases" ? job.cases : Array.from({ length: job.count }, (_, index) => job.from + index);
  for (const item of plans) {
    const plan = typeof item === "number" ? generateCase(item, job.kind === "seeds" ? job.kinds : "all") : item;
    const outcome = await simulate(pawl, plan);
    result.done += 1;
    result.steps += outcome.steps;
    result.virtualMs += outcome.virtualMs;
    addMatrix(result.matrix, outcome.matrix);
    const violation =
      outcome.violations[0] ??
      (await differs(pawl, plan, outcome.hash, typeof item === "number" && item % TWICE_EVERY === 0));
    if (violation !== null) result.failures.push({ plan, violation });
    if (violation !== null && job.kind === "seeds" && job.stopAtFirst) break;
  }
  return result;
}

async function differs(pawl: Pawl, plan: SimCase, hash: number, isChecked: boolean): Promise<Violation | null> {
  if (!isChecked) return null;
  const again = await simulate(pawl, plan);
  return again.hash === hash
    ? null
    : { invariant: "determinism", text: `two executions of the same seed have the traces ${hash} and ${again.hash}` };
}
