import type { ConsumePolicy, DeliverPolicy, LeftoverPolicy, ParentClosePolicy } from "pawl";

/**
 * A workflow as data: one registered code workflow interprets it. Every node that leaves a record has a name of its own, so
 * that its location is known without running anything; in a loop the number of the round is added.
 */
export type ProgramNode =
  | StepNode
  | SleepNode
  | { readonly kind: "listen"; readonly name: string; readonly message: string; readonly timeoutMs: number | null }
  | {
      readonly kind: "listenN";
      readonly name: string;
      readonly message: string;
      readonly count: number;
      readonly timeoutMs: number | null;
    }
  | { readonly kind: "event"; readonly name: string; readonly topic: string; readonly timeoutMs: number | null }
  | TransactionNode
  | SelectNode
  | ChildNode
  | { readonly kind: "all" | "race" | "settled"; readonly branches: readonly (readonly ProgramNode[])[] }
  | { readonly kind: "loop"; readonly times: number; readonly body: readonly ProgramNode[] }
  /** The ctx's own: each branch, round or body has a scope of its own. */
  | BranchesNode
  | CtxLoopNode
  | { readonly kind: "ctxTry"; readonly name: string; readonly body: readonly ProgramNode[] }
  /** Code that was changed while runs were under way: `before` is what it was, `after` what it is. */
  | {
      readonly kind: "version";
      readonly name: string;
      readonly before: readonly ProgramNode[];
      readonly after: readonly ProgramNode[];
    }
  /** Code that was taken out while runs were under way; what it gave was of no use to anybody. */
  | { readonly kind: "removed"; readonly was: StepNode | SleepNode }
  | { readonly kind: "attempt"; readonly body: readonly ProgramNode[]; readonly rescue: readonly ProgramNode[] }
  /** `target` is the place of a run in the case. */
  | { readonly kind: "send"; readonly target: number; readonly message: string; readonly policy: LeftoverPolicy }
  | {
      readonly kind: "emit";
      readonly topic: string;
      readonly deliver: DeliverPolicy;
      readonly consume: ConsumePolicy;
    }
  /** What was done before it stays. */
  | { readonly kind: "checkpoint"; readonly name: string }
  /** Something that the run holds whenever it is worked on. */
  | { readonly kind: "resource"; readonly name: string }
  /** The code asks for everything to be undone. */
  | { readonly kind: "giveUp" }
  /** now, random, uuid and log: they leave no record. */
  | { readonly kind: "pure" };

export interface StepNode {
  readonly kind: "step";
  readonly name: string;
  /** So many tries throw. */
  readonly failures: number;
  readonly maxAttempts: number;
  readonly critical: boolean;
  readonly timeoutMs: number | null;
  readonly retryOnTimeout: boolean;
  /** The body takes longer than its timeout. */
  readonly slow: boolean;
  readonly ephemeral: boolean;
  /** `tryStep`: a failure is a value. */
  readonly asResult: boolean;
  /** The body ends its worker. */
  readonly poison: boolean;
  /** How it is undone; so many tries of that throw. */
  readonly rollback: { readonly failures: number; readonly maxAttempts: number } | null;
}

export interface SleepNode {
  readonly kind: "sleep";
  readonly name: string;
  readonly ms: number;
}

export interface BranchesNode {
  readonly kind: "ctxJoin" | "ctxRace";
  readonly name: string;
  /** Branches are called by their places: `b0`, `b1` … */
  readonly branches: readonly (readonly ProgramNode[])[];
}

export interface CtxLoopNode {
  readonly kind: "ctxLoop";
  readonly name: string;
  readonly times: number;
  readonly body: readonly ProgramNode[];
  readonly commitInterval: number;
  readonly historyEvery: number;
  readonly historyKeep: number;
}

/** A step whose body the store runs in its own transaction. */
export interface TransactionNode {
  readonly kind: "transaction";
  readonly name: string;
  readonly failures: number;
  readonly maxAttempts: number;
}

export interface SelectNode {
  readonly kind: "select";
  readonly name: string;
  readonly message: string | null;
  readonly topic: string | null;
  /** A child is started first and is one of the arms. */
  readonly program: number | null;
  readonly afterMs: number | null;
}

export interface ChildNode {
  readonly kind: "child";
  readonly name: string;
  readonly program: number;
  /** `quiet`: its failure is `undefined`. `detached`: nobody waits for it. */
  readonly mode: "await" | "quiet" | "detached";
  readonly onClose: ParentClosePolicy;
}

export interface Program {
  readonly nodes: readonly ProgramNode[];
  /** How often the run continues as a fresh generation before it ends. */
  readonly generations: number;
  /** Which version of the code its runs are started with. */
  readonly version: 1 | 2;
  /** Interpreted by a reducer whose state is data: only steps, sleeps and receives, two under way at a time. */
  readonly data: boolean;
}

/** What a run of a program is given. */
export interface ProgramInput {
  readonly p: number;
  readonly g: number;
}

/** Which generation of its program a run is; one that was forked begins in the middle. */
export function generationOf(row: { readonly input: string | null }): number {
  return (JSON.parse(row.input ?? "null") as ProgramInput).g;
}

/** The nodes that leave a record of their own, by name. */
export type NamedNode = Extract<ProgramNode, { readonly name: string }>;

export function namedNodes(
  nodes: readonly ProgramNode[],
  found = new Map<string, NamedNode>(),
): Map<string, NamedNode> {
  for (const node of nodes) {
    if ("name" in node) found.set(node.name, node);
    for (const list of listsOf(node)) namedNodes(list, found);
  }
  return found;
}

/** The lists of nodes inside a node. */
export function listsOf(node: ProgramNode): readonly (readonly ProgramNode[])[] {
  switch (node.kind) {
    case "all":
    case "race":
    case "settled":
    case "ctxJoin":
    case "ctxRace":
      return node.branches;
    case "loop":
    case "ctxLoop":
    case "ctxTry":
      return [node.body];
    case "version":
      return [node.before, node.after];
    case "removed":
      return [[node.was]];
    case "attempt":
      return [node.body, node.rescue];
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
    case "checkpoint":
    case "resource":
    case "giveUp":
    case "pure":
      return [];
  }
}

/** The name of the node that made the command at this location; scopes around it and the numbers of rounds are not part of it. */
export function nodeName(location: string): string {
  const own = location.split("/").findLast((segment) => segment !== "result" && !segment.startsWith("~"));
  return /^[^.#]*/.exec(own ?? location)?.[0] ?? location;
}

/** What code says that asks for everything to be undone. */
export const GIVEN_UP = "given up";

/** What a branch is called, by its place. */
export function branchName(place: number): string {
  return `b${place}`;
}

/** Where a node stands: the scope it is in, and what the plain loops around it add to its name. */
export interface Place {
  readonly path: string;
  readonly round: string;
}

export const ROOT: Place = { path: "", round: "" };

/** The location of a node's command. */
export function locationOf(name: string, { path, round }: Place): string {
  return path + name + round;
}

/** The scope of a branch of a node, or of a round of a loop. */
export function within(location: string, segment: string): Place {
  return { path: `${location}/${segment}/`, round: "" };
}

/** What a step's body returns, or throws, at this try: a function of where it stands, so that nobody has to remember it. */
export function stepValue(runId: string, generation: number, location: string, attempt: number): string {
  return `${runId}:${generation}:${location}:${attempt}`;
}
