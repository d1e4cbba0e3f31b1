import type { ConsumePolicy, LeftoverPolicy } from "pawl";
import type { Chance } from "pawl-test-shared/chance";
import type { ChildNode, ProgramNode, SelectNode, StepNode, TransactionNode } from "./program.ts";

/** Message names of single receives. Counted receives have other names, so a run never waits rightly with one of these in its inbox. */
export const MESSAGES = ["ma", "mb", "mc"] as const;
export const MESSAGES_COUNTED = ["na", "nb"] as const;
export const TOPICS = ["ta", "tb"] as const;
export const POLICIES: readonly LeftoverPolicy[] = ["discard", "discard", "broadcast", "deadLetter"];

/** The nodes of generated programs: those of the kernel only, or all. */
export type Kinds = "kernel" | "all";

/** The state of the generator for one program. */
export interface ProgramDraft {
  readonly chance: Chance;
  readonly kinds: Kinds;
  readonly runCount: number;
  /** Programs that children may execute: those generated before. */
  readonly below: number;
  names: number;
}

export function stepNode(draft: ProgramDraft): StepNode {
  const { chance } = draft;
  const timed = chance.roll(0.12);
  const named = name(draft, "s");
  return {
    kind: "step",
    name: named,
    failures: chance.roll(0.3) ? chance.between(1, 3) : 0,
    maxAttempts: chance.between(1, 4),
    critical: chance.roll(0.1),
    timeoutMs: timed ? chance.pick([50, 800]) : null,
    retryOnTimeout: chance.roll(0.5),
    slow: timed && chance.roll(0.5),
    ephemeral: chance.roll(0.15),
    asResult: chance.roll(0.3),
    poison: false,
    rollback: draft.kinds === "kernel" ? null : rollback(chance, draft.names),
  };
}

/** Each third step asks for the rollback of unfinished bodies. No chance is drawn, so seeds keep their programs. */
function rollback(chance: Chance, n: number): StepNode["rollback"] {
  if (!chance.roll(0.4)) return null;
  return {
    unfinished: n % 3 === 0,
    failures: chance.roll(0.3) ? chance.between(1, 3) : 0,
    maxAttempts: chance.between(1, 3),
  };
}

export function transactionNode(draft: ProgramDraft): TransactionNode {
  const { chance } = draft;
  const failures = chance.roll(0.3) ? chance.between(1, 3) : 0;
  return { kind: "transaction", name: name(draft, "d"), failures, maxAttempts: chance.between(1, 4) };
}

export function selectNode(draft: ProgramDraft, depth: number): SelectNode {
  const { chance } = draft;
  const withChild = depth > 0 && draft.below > 0 && chance.roll(0.4);
  const topic = chance.roll(0.5) ? chance.pick(TOPICS) : null;
  const afterMs = chance.roll(0.6) ? chance.pick([0, 50, 900, 3000]) : null;
  const needed = !withChild && topic === null && afterMs === null;
  return {
    kind: "select",
    name: name(draft, "x"),
    message: needed || chance.roll(0.6) ? chance.pick(MESSAGES) : null,
    topic,
    program: withChild ? chance.between(0, draft.below - 1) : null,
    afterMs,
  };
}

export function childNode(draft: ProgramDraft): ProgramNode {
  const { chance } = draft;
  if (draft.below === 0) return stepNode(draft);
  const node: ChildNode = {
    kind: "child",
    name: name(draft, "c"),
    program: chance.between(0, draft.below - 1),
    mode: chance.weighted({ await: 6, quiet: 2, detached: 3 }),
    onClose: chance.pick(["cancel", "abandon"] as const),
  };
  return node;
}

export function timeout(chance: Chance): number | null {
  return chance.roll(0.55) ? chance.pick([0, 1, 60, 700, 3000]) : null;
}

export function consume(chance: Chance): ConsumePolicy {
  return chance.weighted({ one: 6, all: 4 });
}

export function name(draft: ProgramDraft, letter: string): string {
  draft.names += 1;
  return `${letter}${draft.names}`;
}
