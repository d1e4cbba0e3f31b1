import { shrink } from "pawl-test-shared/shrink";
import type { Pawl } from "./engine-under-test.ts";
import { listsOf, type Program, type ProgramNode } from "./program.ts";
import { type FaultKind, NO_FAULTS, type SimCase } from "./sim-case.ts";
import { simulate } from "./simulate.ts";

const ATTEMPTS_MAX = 400;

/** The smallest case found that breaks the same invariant. */
export function shrinkCase(pawl: Pawl, plan: SimCase, invariant: string): Promise<SimCase> {
  return shrink(plan, {
    smaller,
    retry: async (candidate) => {
      const { violations } = await simulate(pawl, candidate);
      return violations[0]?.invariant === invariant ? candidate : null;
    },
    attemptsMax: ATTEMPTS_MAX,
  });
}

/** Cases with one part removed, largest parts first. */
function* smaller(plan: SimCase): Generator<SimCase> {
  for (const kind of Object.keys(NO_FAULTS) as FaultKind[]) {
    if (plan.faultRates[kind] !== 0) yield { ...plan, faultRates: { ...plan.faultRates, [kind]: 0 } };
  }
  for (const limit of ["maxRunDuration", "maxSuspendDuration", "maxJournalRecords"] as const) {
    if (plan.settings[limit] !== null) yield { ...plan, settings: { ...plan.settings, [limit]: null } };
  }
  if (plan.runs.some(({ deadlineMs, ttlMs }) => deadlineMs !== undefined || ttlMs !== undefined))
    yield { ...plan, runs: plan.runs.map(({ deadlineMs: _, ttlMs: __, ...run }) => run) };
  if (plan.isOneHost === true) yield { ...plan, isOneHost: false };
  if (plan.partial > 0) yield { ...plan, partial: 0 };
  if (plan.changeAtMs > 0) yield { ...plan, changeAtMs: 0 };
  if (plan.workers > 1) yield { ...plan, workers: plan.workers - 1 };
  for (const index of plan.actions.keys())
    yield { ...plan, actions: plan.actions.filter((_, other) => other !== index) };
  // Runs are referred to by index, so only the last can be removed.
  if (plan.runs.length > 1) {
    const last = plan.runs.length - 1;
    yield {
      ...plan,
      runs: plan.runs.slice(0, last),
      actions: plan.actions.filter((action) => !("run" in action) || action.run !== last),
    };
  }
  for (const [index, program] of plan.programs.entries()) {
    for (const nodes of without(program.nodes))
      yield { ...plan, programs: replaced(plan.programs, index, { ...program, nodes }) };
    if (program.generations > 0)
      yield { ...plan, programs: replaced(plan.programs, index, { ...program, generations: 0 }) };
  }
}

/** The lists with one node removed or replaced by a smaller node. */
function* without(nodes: readonly ProgramNode[]): Generator<readonly ProgramNode[]> {
  for (const [index, node] of nodes.entries()) {
    yield [...nodes.slice(0, index), ...nodes.slice(index + 1)];
    for (const [place, list] of listsOf(node).entries()) {
      for (const less of without(list))
        yield [...nodes.slice(0, index), withList(node, place, less), ...nodes.slice(index + 1)];
    }
  }
}

function withList(node: ProgramNode, place: number, list: readonly ProgramNode[]): ProgramNode {
  switch (node.kind) {
    case "all":
    case "race":
    case "settled":
    case "ctxJoin":
    case "ctxRace":
      return { ...node, branches: replaced(node.branches, place, list) };
    case "loop":
    case "ctxLoop":
    case "ctxTry":
      return { ...node, body: list };
    case "version":
      return place === 0 ? { ...node, before: list } : { ...node, after: list };
    case "attempt":
      return place === 0 ? { ...node, body: list } : { ...node, rescue: list };
    case "step":
    case "sleep":
    case "listen":
    case "listenN":
    case "event":
    case "transaction":
    case "select":
    case "child":
    case "send":
    case "emit":
    case "pure":
    case "removed":
    case "checkpoint":
    case "resource":
    case "giveUp":
      return node;
  }
}

function replaced<Item>(items: readonly Item[], place: number, item: Item): readonly Item[] {
  return items.map((other, index) => (index === place ? item : other));
}

/** The number of nodes of a case, which shrinking reduces. */
export function sizeOf(plan: SimCase): number {
  const count = (nodes: readonly ProgramNode[]): number =>
    nodes.reduce((sum, node) => sum + 1 + listsOf(node).reduce((inner, list) => inner + count(list), 0), 0);
  return plan.programs.reduce((sum, program: Program) => sum + count(program.nodes), 0);
}
