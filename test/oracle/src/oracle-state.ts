import type { Activity, Block, BoundaryEvent, Condition, Fork, Handler, Race, Scope, Trigger } from "./block.ts";

/** A running block of an instance, in a tree. */
export interface Node {
  /** Older nodes have smaller numbers. */
  readonly id: number;
  readonly part: Part;
  parent: Node | null;
  children: Node[];
  alive: boolean;
  /** The index of its branch in the parent. */
  slot: number;
}

export interface Wait {
  readonly element: string;
  readonly on: Trigger;
  dueAt: number | null;
  /** The remaining number of repetitions. */
  left: number | null;
  readonly effect:
    | { readonly kind: "boundary"; readonly boundary: BoundaryEvent }
    | { readonly kind: "handler"; readonly handler: Handler }
    | { readonly kind: "branch"; readonly body: Block }
    | { readonly kind: "here" };
}

/** A completed activity that can be compensated. */
export interface Undo {
  readonly element: string;
  readonly handler: string | null;
  readonly inner: readonly Undo[];
  /** Later entries have greater numbers. */
  readonly order: number;
}

export type Part =
  | {
      readonly kind: "scope";
      readonly scope: Scope;
      readonly index: number | null;
      waits: Wait[];
      isInterrupted: boolean;
      undo: Undo[];
    }
  | { readonly kind: "seq"; readonly blocks: readonly Block[]; at: number }
  | { readonly kind: "fork"; readonly fork: Fork; readonly arrived: Set<number>; hasStarted: boolean }
  | { readonly kind: "repeat"; readonly body: Block; readonly again: Condition }
  | { readonly kind: "path"; readonly boundary: BoundaryEvent; readonly rejoins: boolean }
  | { readonly kind: "race"; readonly race: Race; waits: Wait[] }
  | { readonly kind: "catch"; readonly element: string; waits: Wait[] }
  | {
      readonly kind: "activity";
      readonly activity: Activity;
      waits: Wait[];
      total: number | null;
      starts: number;
      ended: number;
      readonly outputs: unknown[];
      undo: Undo[];
    }
  /** The work of a task or of a compensation task. */
  | {
      readonly kind: "work";
      readonly task: string;
      readonly does: "work" | "user" | "receive" | "call";
      readonly index: number | null;
      waits: Wait[];
      incident: string | null;
    }
  | { readonly kind: "undoing"; queue: string[]; readonly isCancelled: boolean }
  /** A split without a flow to take. */
  | { readonly kind: "noFlow"; readonly fork: Fork };

export interface OracleState {
  at: number;
  readonly variables: Record<string, unknown>;
  root: Node | null;
  ending: { readonly kind: "completed" } | { readonly kind: "failed"; readonly code: string } | null;
  ids: number;
  /** The number of starts of each task. */
  readonly starts: Map<string, number>;
  readonly rules: Rules;
}

/** Functions that `structure.ts` needs from modules that import it. */
export interface Rules {
  throwEvent(oracle: OracleState, parent: Node, block: Extract<Block, { kind: "throw" | "end" }>, slot: number): void;
  undoNext(oracle: OracleState, node: Node): void;
}

export type How = "done" | "dead";

export function attach(oracle: OracleState, parent: Node | null, part: Part, slot = -1): Node {
  oracle.ids += 1;
  const node: Node = { id: oracle.ids, part, parent, children: [], alive: true, slot };
  parent?.children.push(node);
  return node;
}

/** Ends the node and its children. */
export function kill(node: Node): void {
  node.alive = false;
  for (const child of [...node.children]) kill(child);
  if (node.parent !== null) node.parent.children = node.parent.children.filter((each) => each !== node);
}

/** Moves the node to its scope: it continues, but its former parent does not wait for it. */
export function release(node: Node): void {
  const scope = scopeOf(node);
  if (node.parent !== null) node.parent.children = node.parent.children.filter((each) => each !== node);
  node.parent = scope;
  node.slot = -1;
  scope.children.push(node);
}

/** The scope of a node. The scope of a scope is itself. */
export function scopeOf(node: Node): Node & { readonly part: Extract<Part, { kind: "scope" }> } {
  for (let at: Node | null = node; at !== null; at = at.parent) {
    if (isScope(at)) return at;
  }
  throw new Error("node without a scope");
}

export function isScope(node: Node): node is Node & { readonly part: Extract<Part, { kind: "scope" }> } {
  return node.part.kind === "scope";
}

/** All running nodes, oldest first. */
export function all(oracle: OracleState): readonly Node[] {
  const found: Node[] = [];
  const walk = (node: Node): void => {
    found.push(node);
    for (const child of node.children) walk(child);
  };
  if (oracle.root?.alive) walk(oracle.root);
  return found.sort((a, b) => a.id - b.id);
}

export function waitsOf({ part }: Node): readonly Wait[] {
  return "waits" in part ? part.waits : [];
}

export function isTrue({ variables }: OracleState, { variable, over }: Condition): boolean {
  return Number(variables[variable]) > over;
}

export function waitFor({ at }: OracleState, element: string, on: Trigger, effect: Wait["effect"]): Wait {
  const isTimer = on.kind === "timer";
  return { element, on, dueAt: isTimer ? at + on.minutes * 60_000 : null, left: isTimer ? on.times : null, effect };
}

/** True if the trigger comes from outside. Errors, escalations and cancels are searched when they are thrown. */
export function isAwaited({ kind }: Trigger): boolean {
  return kind === "message" || kind === "timer" || kind === "signal" || kind === "condition";
}
