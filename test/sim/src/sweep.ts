import { MATRIX_FAULTS } from "./fault-matrix.ts";
import { generateCase } from "./generate-case.ts";
import { NO_FAULTS, type SimCase } from "./sim-case.ts";

/** Seeds whose programs together contain every kind of node. */
export const SWEEP_SEEDS: readonly number[] = [
  ...Array.from({ length: 20 }, (_, index) => 9001 + index),
  9106,
  9112,
  9146,
];

/** The case of a sweep: the programs of the seed on two workers, without random faults. */
export function sweepCase(seed: number): SimCase {
  const plan = generateCase(seed);
  const chaosMs = 1;
  const early = {
    runs: plan.runs.map((run) => ({ ...run, atMs: 0 })),
    actions: plan.actions.map((action) => ({ ...action, atMs: Math.min(action.atMs, 1000) })),
  };
  return {
    ...plan,
    ...early,
    faultRates: NO_FAULTS,
    workers: 2,
    chaosMs,
    changeAtMs: 0,
    partial: 0,
    forced: { call: -1, fault: "error" },
  };
}

/** Each store call with each kind of fault. */
export function* sweepCases(plan: SimCase, calls: number): Generator<SimCase> {
  for (let call = 0; call < calls; call += 1) {
    for (const fault of MATRIX_FAULTS) yield { ...plan, forced: { call, fault } };
  }
}
