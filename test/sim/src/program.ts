import type { ConsumePolicy, DeliverPolicy, LeftoverPolicy, ParentClosePolicy } from "pawl";

/**
 * A workflow as data, which one registered code workflow interprets. Every node with a record has a unique name, so that its location
 * is known without execution. In a loop the number of the iteration is added.
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
  /** Operations of the ctx. Each branch, iteration or body has its own scope. */
  | BranchesNode
  | CtxLoopNode
  | { readonly kind: "ctxTry"; readonly name: string; readonly body: readonly ProgramNode[] }
  /** Code that is changed while runs are open: `before` the change and `after` it. */
  | {
      readonly kind: "version";
      readonly name: string;
      readonly before: readonly ProgramNode[];
      readonly after: readonly ProgramNode[];
    }
  /** Code that is removed while runs are open. Its result was not used. */
  | { readonly kind: "removed"; readonly was: StepNode | SleepNode }
  | { readonly kind: "attempt"; readonly body: readonly ProgramNode[]; readonly rescue: readonly ProgramNode[] }
  /** `target` is the index of a run in the case. */
  | { readonly kind: "send"; readonly target: number; readonly message: string; readonly policy: LeftoverPolicy }
  | {
      readonly kind: "emit";
      readonly topic: string;
      readonly deliver: DeliverPolicy;
      readonly consume: ConsumePolicy;
    }
  /** Earlier steps are no longer rolled back. */
  | { readonly kind: "checkpoint"; readonly name: string }
  /** A resource that the run holds while it is executed. */
  | { readonly kind: "resource"; readonly name: string }
  /** The code throws, so that all steps are rolled back. */
  | { readonly kind: "giveUp" }
  /** Calls of now, random, uuid and log, which have no record. */
  | { readonly kind: "pure" };

export interface StepNode {
  readonly kind: "step";
  readonly name: string;
  /** The number of attempts that throw. */
  readonly failures: number;
  readonly maxAttempts: number;
  readonly critical: boolean;
  readonly timeoutMs: number | null;
  readonly retryOnTimeout: boolean;
  /** The body takes longer than its timeout. */
  readonly slow: boolean;
  /** How long the body takes. Omitted for a random time. */
  readonly takesMs?: number;
  readonly ephemeral: boolean;
  /** Uses `tryStep`: a failure is a value. */
  readonly asResult: boolean;
  /** The body crashes its worker. */
  readonly poison: boolean;
  /** Its rollback, and the number of the rollback's attempts that throw. */
  readonly rollback: {
    readonly failures: number;
    readonly maxAttempts: number;
    /** Whether it also undoes a body that did not complete. */
    readonly unfinished: boolean;
    /** Whether the rollback crashes its worker. */
    readonly poison?: boolean;
  } | null;
}

export interface SleepNode {
  readonly kind: "sleep";
  readonly name: string;
  readonly ms: number;
}

export interface BranchesNode {
  readonly kind: "ctxJoin" | "ctxRace";
  readonly name: string;
  /** Branches are named by their index: `b0`, `b1` … */
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

/** A step whose body the store executes in its transaction. */
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
  /** A child that is started first and is one of the cases. */
  readonly program: number | null;
  readonly afterMs: number | null;
}

export interface ChildNode {
  readonly kind: "child";
  readonly name: string;
  readonly program: number;
  /** `quiet`: its failure becomes a value. `detached`: the run does not wait for it. */
  readonly mode: "await" | "quiet" | "detached";
  readonly onClose: ParentClosePolicy;
}

export interface Program {
  readonly nodes: readonly ProgramNode[];
  /** The number of times the run continues as a new generation. */
  readonly generations: number;
  /** The version of the code that its runs start with. */
  readonly version: 1 | 2;
  /** True if the reducer interprets it: only steps, sleeps and receives, two at a time. */
  readonly data: boolean;
}

/** The input of a run of a program. */
export interface ProgramInput {
  readonly p: number;
  /** The generation in its start. Each later start of a run adds `START_STRIDE`, so no generation of a run occurs twice. */
  readonly g: number;
}

export const START_STRIDE = 1000;

/** The generation of a run since its last start. */
export function generationInStart({ g }: ProgramInput): number {
  return g % START_STRIDE;
}

/** The generation of a run in its program. A fork may start with a later one. */
export function generationOf(row: { readonly input: string | null }): number {
  return (JSON.parse(row.input ?? "null") as ProgramInput).g;
}

/** The nodes with their own record, by name. */
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

/** The name of the node that issued the command at this location, without scopes and iteration numbers. */
export function nodeName(location: string): string {
  const own = location.split("/").findLast((segment) => segment !== "result" && !segment.startsWith("~"));
  return /^[^.#]*/.exec(own ?? location)?.[0] ?? location;
}

/** The message of the error that requests the rollback of all steps. */
export const GIVEN_UP = "given up";

/** The name of a branch, by its index. */
export function branchName(place: number): string {
  return `b${place}`;
}

/** The position of a node: its scope, and the suffix that plain loops around it add to its name. */
export interface Place {
  readonly path: string;
  readonly suffix: string;
}

export const ROOT: Place = { path: "", suffix: "" };

/** The location of a node's command. */
export function locationOf(name: string, { path, suffix }: Place): string {
  return path + name + suffix;
}

/** The scope of a branch of a node, or of an iteration of a loop. */
export function within(location: string, segment: string): Place {
  return { path: `${location}/${segment}/`, suffix: "" };
}

/** Stands for the value of a step that did not complete. */
export const UNFINISHED = "unfinished";

/** The value that a step body returns or throws at this attempt. It depends only on the position, so it need not be stored. */
export function stepValue(runId: string, generation: number, location: string, attempt: number): string {
  return `${runId}:${generation}:${location}:${attempt}`;
}
