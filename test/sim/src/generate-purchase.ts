import { Chance } from "pawl-test-shared/chance";
import type { ChildNode, Program, ProgramNode, StepNode } from "./program.ts";
import type { ClientAction, SimCase } from "./sim-case.ts";

const SHARE = 0.35;
/** Mixed with the seed, so that the other parts of a case do not depend on this one. */
const STREAM = 0x5a17;

/** Adds, to some cases, a run that buys: its children pay, and it fails or is cancelled at about the time at which they end. */
export function withPurchase(plan: SimCase): SimCase {
  const chance = new Chance(plan.seed ^ STREAM);
  if (!chance.roll(SHARE)) return plan;
  const paying = plan.programs.length;
  const programs = [
    ...plan.programs,
    program([
      ...delay(chance, "w8"),
      step("s8", { failures: 0, maxAttempts: 1, unfinished: false }),
      ...delay(chance, "w9"),
    ]),
    program([...delay(chance, "w8")]),
    program(purchase(chance, { pays: paying, waits: paying + 1 })),
  ];
  const run = plan.runs.length;
  const atMs = chance.between(0, Math.floor(plan.chaosMs / 2));
  const buyer = { id: `r${run}`, program: paying + 2, atMs, delayMs: 0, twice: false, watched: false };
  const cancel: ClientAction = { kind: "cancel", run, atMs: atMs + chance.between(0, 2500) };
  const actions = chance.roll(0.6) ? [...plan.actions, cancel] : plan.actions;
  return { ...plan, programs, runs: [...plan.runs, buyer], actions };
}

function purchase(chance: Chance, children: { readonly pays: number; readonly waits: number }): readonly ProgramNode[] {
  const pays = (mode: ChildNode["mode"], name = "c1"): ChildNode => child(name, children.pays, mode);
  const fails: ProgramNode[] = [...delay(chance, "w1"), { ...step("s1", null), critical: true, failures: 1 }];
  const waits: ProgramNode = { kind: "sleep", name: "w2", ms: 20_000 };
  switch (chance.weighted({ sibling: 4, detached: 3, awaited: 3, checkpoint: 3, several: 5, loop: 3 })) {
    case "sibling":
      return [{ kind: "all", branches: [[pays("await")], fails] }];
    case "detached":
      return [pays("detached"), ...fails];
    case "awaited":
      return [pays("await"), waits, { kind: "giveUp" }];
    case "checkpoint":
      return [pays("detached"), { kind: "checkpoint", name: "q1" }, waits, { kind: "giveUp" }];
    case "several":
      return [{ kind: "all", branches: [[child("c2", children.waits, "await"), waits], [pays("await")]] }];
    case "loop": {
      const body = [pays("detached"), ...delay(chance, "w3")];
      const history = { commitInterval: 1, historyEvery: 1, historyKeep: 0 };
      return [{ kind: "ctxLoop", name: "k1", times: 4, body, ...history }, ...fails];
    }
  }
}

function program(nodes: readonly ProgramNode[]): Program {
  return { nodes, generations: 0, version: 1, data: false };
}

function child(name: string, of: number, mode: ChildNode["mode"]): ChildNode {
  return { kind: "child", name, program: of, mode, onClose: "cancel" };
}

function delay(chance: Chance, name: string): readonly ProgramNode[] {
  return chance.roll(0.5) ? [{ kind: "sleep", name, ms: chance.pick([1, 50, 400, 1500]) }] : [];
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
