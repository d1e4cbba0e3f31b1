import type { Chance } from "pawl-test-shared/chance";
import {
  childNode,
  consume,
  type Kinds,
  MESSAGES,
  MESSAGES_COUNTED,
  name,
  POLICIES,
  type ProgramDraft,
  selectNode,
  stepNode,
  TOPICS,
  timeout,
  transactionNode,
} from "./generate-leaves.ts";
import type { Program, ProgramNode, StepNode } from "./program.ts";

/** Node weights of a kernel program. The seeds of the kernel regressions depend on them. */
const KERNEL = {
  step: 36,
  sleep: 10,
  listen: 10,
  listenN: 4,
  event: 11,
  select: 7,
  child: 8,
  all: 6,
  race: 7,
  settled: 3,
  loop: 5,
  attempt: 6,
  send: 6,
  emit: 6,
  pure: 3,
  ctxJoin: 0,
  ctxRace: 0,
  ctxLoop: 0,
  ctxTry: 0,
  version: 0,
  removed: 0,
  checkpoint: 0,
  transaction: 0,
};
const WEIGHTS = {
  ...KERNEL,
  all: 4,
  race: 4,
  settled: 2,
  loop: 3,
  ctxJoin: 6,
  ctxRace: 7,
  ctxLoop: 9,
  ctxTry: 4,
  version: 4,
  removed: 3,
  checkpoint: 2,
  transaction: 7,
};
/** Weights at the deepest level: only leaves. */
const LEAVES = { ...KERNEL, all: 0, race: 0, settled: 0, loop: 0, attempt: 0, child: 0, select: 4 };

/** Generates the programs of a case: first those of children, then one for each run. */
export function generatePrograms(
  chance: Chance,
  { runCount, poisoned, kinds }: { readonly runCount: number; readonly poisoned: boolean; readonly kinds: Kinds },
): { readonly list: readonly Program[]; readonly roots: readonly number[] } {
  const list: Program[] = [];
  const childCount = chance.between(1, 3);
  for (let index = 0; index < childCount; index += 1)
    list.push(generateProgram(chance, { runCount, below: index, depth: 1, poisoned: false, kinds }));
  const roots: number[] = [];
  for (let index = 0; index < runCount; index += 1) {
    roots.push(list.length);
    list.push(
      generateProgram(chance, { runCount, below: childCount, depth: 2, poisoned: poisoned && index === 0, kinds }),
    );
  }
  return { list, roots };
}

function generateProgram(
  chance: Chance,
  plan: {
    readonly runCount: number;
    readonly below: number;
    readonly depth: number;
    readonly poisoned: boolean;
    readonly kinds: Kinds;
  },
): Program {
  const draft: ProgramDraft = {
    chance,
    kinds: plan.kinds,
    runCount: plan.runCount,
    below: plan.below,
    names: 0,
  };
  const nodes = list(draft, plan.depth, chance.between(1, 4));
  if (plan.poisoned) nodes.splice(0, nodes.length, { ...stepNode(draft), failures: 0, timeoutMs: null, poison: true });
  else if (plan.kinds !== "kernel") {
    if (chance.roll(0.15))
      nodes.splice(chance.between(0, nodes.length), 0, { kind: "resource", name: name(draft, "h") });
    if (chance.roll(0.15)) nodes.push({ kind: "giveUp" });
  }
  const data = !plan.poisoned && chance.roll(0.2);
  return {
    nodes: data ? flatList(draft, chance.between(3, 7)) : nodes,
    generations: chance.roll(0.12) ? chance.between(1, 2) : 0,
    version: plan.kinds !== "kernel" && !data && chance.roll(0.3) ? 2 : 1,
    data,
  };
}

/** The nodes of a data program: no nested nodes, and no caught failures. */
function flatList(draft: ProgramDraft, length: number): ProgramNode[] {
  const { chance } = draft;
  return Array.from({ length }, (): ProgramNode => {
    const kind = chance.weighted({ step: 6, sleep: 2, listen: 2 });
    if (kind === "step") return { ...stepNode(draft), asResult: false, rollback: null };
    if (kind === "sleep") return { kind, name: name(draft, "w"), ms: chance.pick([0, 1, 20, 300, 1000]) };
    return { kind, name: name(draft, "l"), message: chance.pick(MESSAGES), timeoutMs: timeout(chance) };
  });
}

function list(draft: ProgramDraft, depth: number, length: number): ProgramNode[] {
  return Array.from({ length }, () => node(draft, depth));
}

function node(draft: ProgramDraft, depth: number): ProgramNode {
  const { chance } = draft;
  const kind = chance.weighted(depth === 0 ? LEAVES : draft.kinds === "kernel" ? KERNEL : WEIGHTS);
  switch (kind) {
    case "step":
      return stepNode(draft);
    case "sleep":
      return { kind, name: name(draft, "w"), ms: chance.pick([0, 1, 20, 300, 1000, 4000]) };
    case "listen":
      return { kind, name: name(draft, "l"), message: chance.pick(MESSAGES), timeoutMs: timeout(chance) };
    case "listenN":
      return {
        kind,
        name: name(draft, "n"),
        message: chance.pick(MESSAGES_COUNTED),
        count: chance.between(1, 3),
        timeoutMs: timeout(chance),
      };
    case "event":
      return { kind, name: name(draft, "e"), topic: chance.pick(TOPICS), timeoutMs: timeout(chance) };
    case "select":
      return selectNode(draft, depth);
    case "child":
      return childNode(draft);
    case "all":
    case "race":
    case "settled":
      return { kind, branches: branches(draft, depth, kind === "race") };
    case "loop":
      return { kind, times: chance.between(1, 3), body: list(draft, depth - 1, chance.between(1, 2)) };
    case "attempt":
      return {
        kind,
        body: list(draft, depth - 1, chance.between(1, 2)),
        rescue: list(draft, 0, chance.between(0, 1)),
      };
    case "ctxJoin":
    case "ctxRace":
    case "ctxLoop":
    case "ctxTry":
    case "version":
    case "removed":
      return structure(draft, depth, kind);
    case "send":
      return {
        kind,
        target: chance.between(0, draft.runCount - 1),
        message: chance.pick(MESSAGES),
        policy: chance.pick(POLICIES),
      };
    case "emit":
      return {
        kind,
        topic: chance.pick(TOPICS),
        deliver: chance.weighted({ all: 6, afterCreate: 2, afterWait: 2 }),
        consume: consume(chance),
      };
    case "checkpoint":
      return { kind, name: name(draft, "q") };
    case "transaction":
      return transactionNode(draft);
    case "pure":
      return { kind };
  }
}

/** A branch of a race ends with a step, so that its end is a record and the journal shows which branch was first. */
function branches(draft: ProgramDraft, depth: number, isRace: boolean): ProgramNode[][] {
  const { chance } = draft;
  return Array.from({ length: chance.between(2, 3) }, () => {
    const nodes = list(draft, depth - 1, chance.between(1, 2));
    if (isRace) nodes.push(stepNode(draft));
    return nodes;
  });
}

/** Structural operations of the ctx, each with a scope. */
function structure(
  draft: ProgramDraft,
  depth: number,
  kind: "ctxJoin" | "ctxRace" | "ctxLoop" | "ctxTry" | "version" | "removed",
): ProgramNode {
  const { chance } = draft;
  const few = (): ProgramNode[] => list(draft, depth - 1, chance.between(1, 2));
  switch (kind) {
    case "ctxJoin":
    case "ctxRace":
      return { kind, name: name(draft, "j"), branches: branches(draft, depth, kind === "ctxRace") };
    case "ctxLoop":
      return {
        kind,
        name: name(draft, "k"),
        times: chance.between(1, 6),
        body: few(),
        commitInterval: chance.between(1, 3),
        historyEvery: chance.between(1, 4),
        historyKeep: chance.between(0, 2),
      };
    case "ctxTry":
      return { kind, name: name(draft, "y"), body: few() };
    case "version":
      return { kind, name: name(draft, "v"), before: few(), after: few() };
    case "removed": {
      const step: StepNode = { ...stepNode(draft), asResult: true, rollback: null };
      const was = chance.roll(0.7)
        ? step
        : ({ kind: "sleep", name: name(draft, "w"), ms: chance.pick([1, 300, 4000]) } as const);
      return { kind, was };
    }
  }
}
