import { Chance } from "pawl-test-shared/chance";
import { withKillers } from "./generate-killer.ts";
import { type Kinds, MESSAGES, MESSAGES_COUNTED, POLICIES, TOPICS } from "./generate-leaves.ts";
import { generatePrograms } from "./generate-program.ts";
import { withPurchase } from "./generate-purchase.ts";
import type { Program } from "./program.ts";
import {
  CALL_FAULTS,
  type ClientAction,
  type FaultKind,
  type FaultRates,
  type OperatorAction,
  type RunPlan,
  type SimCase,
  SMALL_FAULTS,
  TIMED_FAULTS,
} from "./sim-case.ts";

/** Generates the case of a seed. The same seed returns the same case. */
export function generateCase(seed: number, kinds: Kinds = "all"): SimCase {
  const chance = new Chance(seed);
  const runCount = chance.between(2, 5);
  const poisoned = chance.roll(0.08);
  const made = generatePrograms(chance, { runCount, poisoned, kinds });
  // A run that crashes its workers needs time to be claimed `claimsMax` times.
  const chaosMs = (poisoned ? 14 : chance.between(3, 14)) * 1000;
  const runs = runPlans(chance, made, runCount, chaosMs);
  const plan: SimCase = {
    seed,
    programs: made.list,
    runs: kinds === "kernel" || poisoned ? runs : withStartLimits(seed, runs),
    actions: [
      ...clientActions(chance, { runs, chaosMs, kinds }),
      ...(kinds === "kernel" || poisoned ? [] : restarts(seed, { runs, chaosMs })),
    ],
    workers: chance.between(2, 4),
    settings: {
      leaseMs: poisoned ? 1500 : chance.pick([1500, 3000]),
      pollMs: chance.pick([400, 1000]),
      concurrency: chance.pick([1, 2, 3, 100]),
      hotRuns: chance.pick([1, 2, 100]),
      claimsMax: poisoned ? chance.between(1, 3) + 3 : 1000,
      ...(kinds === "kernel" || poisoned ? NO_LIMITS : limits(chance)),
    },
    faultRates: { ...faultRates(chance), ...(kinds === "kernel" ? NO_LATER_FAULTS : laterFaults(seed)) },
    chaosMs,
    changeAtMs: kinds === "kernel" || chance.roll(0.4) ? 0 : chance.between(1, chaosMs),
    bugs: kinds === "kernel" || poisoned ? [] : bugs(seed, made.list.length),
    blind: kinds === "all" && !poisoned && new Chance(seed ^ BLIND_STREAM).roll(0.15),
    partial: kinds === "kernel" || chance.roll(0.7) ? 0 : 0.4,
    forced: null,
    ...(kinds === "all" && new Chance(seed ^ HOST_STREAM).roll(0.2) ? { isOneHost: true } : {}),
  };
  return kinds === "kernel" || poisoned ? plan : withKillers(withPurchase(plan));
}

const NO_LIMITS = { maxRunDuration: null, maxSuspendDuration: null, maxJournalRecords: null };

function limits(
  chance: Chance,
): Pick<SimCase["settings"], "maxRunDuration" | "maxSuspendDuration" | "maxJournalRecords"> {
  return {
    maxRunDuration: chance.roll(0.08) ? chance.between(3, 15) * 1000 : null,
    maxSuspendDuration: chance.roll(0.1) ? chance.between(1, 6) * 1000 : null,
    maxJournalRecords: chance.roll(0.08) ? chance.between(4, 30) : null,
  };
}

function runPlans(
  chance: Chance,
  made: { readonly list: readonly Program[]; readonly roots: readonly number[] },
  count: number,
  chaosMs: number,
): RunPlan[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `r${index}`,
    program: made.roots[index] ?? 0,
    atMs: chance.between(0, Math.floor(chaosMs / 2)),
    delayMs: chance.roll(0.15) ? chance.between(1, 2000) : 0,
    twice: chance.roll(0.2),
    watched: chance.roll(0.6),
  }));
}

/** Uses a separate random stream, so that the other parts of a case do not depend on the limits. */
function withStartLimits(seed: number, runs: readonly RunPlan[]): readonly RunPlan[] {
  const chance = new Chance(seed ^ LIMIT_STREAM);
  return runs.map((run) => ({
    ...run,
    ...(chance.roll(0.12) ? { deadlineMs: chance.between(1, 12_000) } : {}),
    ...(chance.roll(0.12) ? { ttlMs: chance.between(1, 3_000) } : {}),
  }));
}

/** Starts of runs that have ended. Uses a separate random stream too. */
function restarts(
  seed: number,
  { runs, chaosMs }: { readonly runs: readonly RunPlan[]; readonly chaosMs: number },
): OperatorAction[] {
  const chance = new Chance(seed ^ RESTART_STREAM);
  if (!chance.roll(0.3)) return [];
  return Array.from({ length: chance.between(1, 4) }, (_, index) => ({
    kind: "restart",
    run: chance.between(0, runs.length - 1),
    id: `again${index + 1}`,
    atMs: chance.between(0, chaosMs),
    twice: chance.roll(0.4),
    ...whereTo(chance),
  }));
}

const KERNEL_ACTIONS = {
  send: 50,
  emit: 40,
  cancel: 9,
  pause: 7,
  resume: 2,
  rewind: 0,
  retry: 0,
  fork: 0,
  migrate: 0,
  prune: 0,
  letter: 0,
};
const ACTIONS = { ...KERNEL_ACTIONS, cancel: 14, rewind: 14, retry: 8, fork: 7, migrate: 7, prune: 6, letter: 6 };

function whereTo(chance: Chance): Pick<OperatorAction, "where" | "bySeq" | "atEnd" | "children" | "messages"> {
  return {
    where: chance.next(),
    bySeq: chance.roll(0.5),
    atEnd: chance.roll(0.3),
    children: chance.weighted({ cancel: 2, detach: 1 }),
    messages: chance.weighted({ redeliver: 2, drop: 1 }),
  };
}

function clientActions(
  chance: Chance,
  { runs, chaosMs, kinds }: { readonly runs: readonly RunPlan[]; readonly chaosMs: number; readonly kinds: Kinds },
): ClientAction[] {
  const actions: ClientAction[] = [];
  for (let count = chance.between(3, 14); count > 0; count -= 1) {
    const run = chance.between(0, runs.length - 1);
    const atMs = chance.between(0, chaosMs);
    const id = `m${count}`;
    const twice = chance.roll(0.25);
    const kind = chance.weighted(kinds === "kernel" ? KERNEL_ACTIONS : ACTIONS);
    if (kind === "send") {
      actions.push({
        kind,
        run,
        message: chance.pick([...MESSAGES, ...MESSAGES_COUNTED]),
        id,
        atMs,
        policy: chance.pick(POLICIES),
        twice,
      });
    } else if (kind === "emit") {
      const deliver = chance.weighted({ all: 6, afterCreate: 2, afterWait: 2 });
      actions.push({
        kind,
        topic: chance.pick(TOPICS),
        id: `e${count}`,
        atMs,
        deliver,
        consume: chance.weighted({ one: 6, all: 4 }),
        twice,
      });
    } else if (kind === "cancel" || kind === "pause" || kind === "resume") {
      actions.push({ kind, run, atMs });
      if (kind === "pause") actions.push({ kind: "resume", run, atMs: atMs + chance.between(1, 3000) });
    } else {
      actions.push({ kind, run, atMs, id: `a${count}`, twice, ...whereTo(chance) });
    }
  }
  return actions;
}

type LaterFaults = Pick<FaultRates, "lateAnswer" | "passedOver" | "unusable" | "block">;

const NO_LATER_FAULTS: LaterFaults = { lateAnswer: 0, passedOver: 0, unusable: 0, block: 0 };

/** Uses a separate random stream, so that seeds without these faults keep their cases. */
function laterFaults(seed: number): LaterFaults {
  const chance = new Chance(~seed);
  return {
    lateAnswer: chance.roll(0.4) ? 0 : chance.pick([0.03, 0.1, 0.3]),
    passedOver: chance.roll(0.7) ? 0 : chance.pick([0.03, 0.2]),
    unusable: chance.roll(0.8) ? 0 : chance.pick([0.002, 0.01]),
    block: chance.roll(0.6) ? 0 : chance.pick([0.03, 0.15]),
  };
}

/** Mixed with the seed, so that the other parts of a case do not depend on the bugs and keys. */
const BUG_STREAM = 0xb06;
const BLIND_STREAM = 0xb11d;
const LIMIT_STREAM = 0x11317;
const RESTART_STREAM = 0xa6a1;
const HOST_STREAM = 0x4057;

function bugs(seed: number, programs: number): readonly number[] {
  const chance = new Chance(seed ^ BUG_STREAM);
  if (!chance.roll(0.25)) return [];
  return Array.from({ length: programs }, (_, index) => index).filter(() => chance.roll(0.6));
}

/** Each kind is off in half of the cases, so that faults cannot hide each other. */
function faultRates(chance: Chance): Omit<FaultRates, keyof LaterFaults> {
  const rates: Partial<Record<FaultKind, number>> = {};
  for (const kind of CALL_FAULTS)
    if (kind !== "lateAnswer" && kind !== "unusable")
      rates[kind] = chance.roll(0.5) ? 0 : chance.pick([0.01, 0.03, 0.08]);
  for (const kind of TIMED_FAULTS) rates[kind] = chance.roll(0.5) ? 0 : chance.pick([0.1, 0.3]);
  rates.shutdown = chance.roll(0.5) ? 0 : chance.pick([0.3, 0.8]);
  for (const kind of SMALL_FAULTS) rates[kind] = chance.roll(0.5) ? 0 : chance.pick([0.02, 0.1]);
  rates.hintLost = chance.roll(0.5) ? 0 : chance.pick([0.2, 1]);
  rates.skew = chance.roll(0.5) ? 0 : 2000;
  return rates as FaultRates;
}
