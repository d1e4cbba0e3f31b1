import { Chance } from "pawl-test-shared/chance";
import type { Program, ProgramNode, StepNode } from "./program.ts";
import { type FaultRates, NO_FAULTS, type RunPlan, type SimCase } from "./sim-case.ts";

const SHARE = 0.07;
/** Mixed with the seed, so that the other parts of a case do not depend on this one. It changes no regression and no seed of the sweep. */
const STREAM = 0x4b06;

/**
 * Adds, to some cases, runs that crash their workers, beside many innocent ones that start at the same time. Nothing else crashes a
 * worker, so an innocent run must never be blamed.
 */
export function withKillers(plan: SimCase): SimCase {
  const chance = new Chance(plan.seed ^ STREAM);
  if (!chance.roll(SHARE)) return plan;
  const kills = plan.programs.length;
  const programs = [
    ...plan.programs,
    program(killing(chance)),
    program([
      step("s8", { failures: 0, maxAttempts: 1, unfinished: false }),
      { kind: "child", name: "c8", program: kills, ...AWAITED },
    ]),
    program([{ ...step("s9", null), takesMs: chance.between(100, 1200) }]),
  ];
  const killers = Array.from({ length: chance.between(1, 3) }, () => kills + (chance.roll(0.25) ? 1 : 0));
  const innocent = Array.from({ length: chance.between(3, 9) }, () => kills + 2);
  const atMs = chance.between(0, Math.floor(plan.chaosMs / 2));
  const runs = [...killers, ...innocent].map(
    (of, index): RunPlan => ({
      id: `r${plan.runs.length + index}`,
      program: of,
      atMs,
      delayMs: 0,
      twice: false,
      watched: false,
    }),
  );
  const limits = { maxRunDuration: null, maxSuspendDuration: null, maxJournalRecords: null };
  return {
    ...plan,
    programs,
    runs: [...plan.runs, ...runs],
    workers: chance.between(1, 2),
    settings: { ...plan.settings, ...limits, leaseMs: 1500, pollMs: 400, concurrency: 100, claimsMax: 4 },
    faultRates: harmless(plan.faultRates),
    changeAtMs: 0,
    partial: 0,
  };
}

/** Whether only the bodies of runs crash workers, and no worker loses its lease. */
export function crashesInBodiesOnly({ faultRates, changeAtMs, partial, forced }: SimCase): boolean {
  const others = { ...faultRates, hintLost: 0, hintTwice: 0, hintLate: 0 };
  return changeAtMs === 0 && partial === 0 && forced === null && Object.values(others).every((rate) => rate === 0);
}

/** Only faults of hints. */
function harmless({ hintLost, hintTwice, hintLate }: FaultRates): FaultRates {
  return { ...NO_FAULTS, hintLost, hintTwice, hintLate };
}

const AWAITED = { mode: "await", onClose: "cancel" } as const;

/**
 * A step that crashes workers: at once, so that the innocent runs that were claimed with it have made no progress, or after a sleep, or
 * after steps to roll back, one of which may crash workers when it is rolled back.
 */
function killing(chance: Chance): readonly ProgramNode[] {
  const kills = { ...step("s7", null), poison: true };
  const shape = chance.next();
  if (shape < 0.3) return [kills];
  // Its worker claims other runs before it wakes.
  if (shape < 0.6) return [{ kind: "sleep", name: "w6", ms: chance.between(500, 8000) }, kills];
  const undone = { failures: chance.between(0, 1), maxAttempts: 2, unfinished: false };
  const crashing = step("s6", { ...undone, poison: chance.roll(0.5) });
  const nodes = chance.roll(0.5) ? [crashing, step("s5", undone)] : [crashing];
  return [...nodes, kills];
}

function program(nodes: readonly ProgramNode[]): Program {
  return { nodes, generations: 0, version: 1, data: false };
}

function step(name: string, rollback: StepNode["rollback"]): StepNode {
  return {
    kind: "step",
    name,
    failures: 0,
    maxAttempts: 1,
    critical: false,
    timeoutMs: null,
    retryOnTimeout: false,
    slow: false,
    ephemeral: false,
    asResult: false,
    poison: false,
    rollback,
  };
}
