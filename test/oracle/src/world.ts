import type { Activity, Block, Condition, Edge, Fork, Handler, Race, Scope, Trigger } from "./block.ts";

/** What is under way in an instance: the tree again, as far as it has begun and is not over. */
export interface Node {
  /** Older ones have smaller numbers. */
  readonly id: number;
  readonly part: Part;
  parent: Node | null;
  children: Node[];
  alive: boolean;
  /** Which branch of its parent it is. */
  slot: number;
}

export interface Wait {
  readonly element: string;
  readonly on: Trigger;
  dueAt: number | null;
  /** How often it comes, still. */
  left: number | null;
  readonly what:
    | { readonly kind: "edge"; readonly edge: Edge }
    | { readonly kind: "handler"; readonly handler: Handler }
    | { readonly kind: "branch"; readonly body: Block }
    | { readonly kind: "here" };
}

/** Something that has completed and can be undone. */
export interface Undo {
  readonly element: string;
  readonly handler: string | null;
  readonly inner: readonly Undo[];
  /** Later ones have greater numbers. */
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
  | { readonly kind: "fork"; readonly fork: Fork; readonly arrived: Set<number>; hasBegun: boolean }
  | { readonly kind: "repeat"; readonly body: Block; readonly again: Condition }
  | { readonly kind: "path"; readonly edge: Edge; readonly rejoins: boolean }
  | { readonly kind: "race"; readonly race: Race; waits: Wait[] }
  | { readonly kind: "catch"; readonly element: string; waits: Wait[] }
  | {
      readonly kind: "activity";
      readonly activity: Activity;
      waits: Wait[];
      total: number | null;
      begun: number;
      ended: number;
      readonly outputs: unknown[];
      undo: Undo[];
    }
  /** Work of a task, or of one that undoes another. */
  | {
      readonly kind: "work";
      readonly task: string;
      readonly does: "work" | "user" | "receive" | "call";
      readonly index: number | null;
      waits: Wait[];
      incident: string | null;
    }
  | { readonly kind: "undoing"; queue: string[]; readonly isCancelled: boolean }
  /** A split that leads nowhere. */
  | { readonly kind: "noFlow"; readonly fork: Fork };

export interface World {
  at: number;
  readonly variables: Record<string, unknown>;
  root: Node | null;
  ending: { readonly kind: "completed" } | { readonly kind: "failed"; readonly code: string } | null;
  ids: number;
  /** How often each task was begun. */
  readonly begun: Map<string, number>;
  readonly rules: Rules;
}

/** What lies above the structure of blocks, and is needed by it. */
export interface Rules {
  act(world: World, parent: Node, block: Extract<Block, { kind: "throw" | "end" }>, slot: number): void;
  undoNext(world: World, node: Node): void;
}

export type How = "done" | "dead";

export function attach(world: World, parent: Node | null, part: Part, slot = -1): Node {
  world.ids += 1;
  const node: Node = { id: world.ids, part, parent, children: [], alive: true, slot };
  parent?.children.push(node);
  return node;
}

/** Ends it and all in it. */
export function kill(node: Node): void {
  node.alive = false;
  for (const child of [...node.children]) kill(child);
  if (node.parent !== null) node.parent.children = node.parent.children.filter((each) => each !== node);
}

/** It goes on, but nobody waits for it except its scope. */
export function release(node: Node): void {
  const scope = scopeOf(node);
  if (node.parent !== null) node.parent.children = node.parent.children.filter((each) => each !== node);
  node.parent = scope;
  node.slot = -1;
  scope.children.push(node);
}

/** The scope that a node lies in; a scope lies in itself. */
export function scopeOf(node: Node): Node & { readonly part: Extract<Part, { kind: "scope" }> } {
  for (let at: Node | null = node; at !== null; at = at.parent) {
    if (isScope(at)) return at;
  }
  throw new Error("a node lies in no scope");
}

export function isScope(node: Node): node is Node & { readonly part: Extract<Part, { kind: "scope" }> } {
  return node.part.kind === "scope";
}

/** All that is under way, oldest first. */
export function all(world: World): readonly Node[] {
  const found: Node[] = [];
  const walk = (node: Node): void => {
    found.push(node);
    for (const child of node.children) walk(child);
  };
  if (world.root?.alive) walk(world.root);
  return found.sort((a, b) => a.id - b.id);
}

export function waitsOf({ part }: Node): readonly Wait[] {
  return "waits" in part ? part.waits : [];
}

export function isTrue({ variables }: World, { variable, over }: Condition): boolean {
  return Number(variables[variable]) > over;
}

export function waitFor({ at }: World, element: string, on: Trigger, what: Wait["what"]): Wait {
  const isTimer = on.kind === "timer";
  return { element, on, dueAt: isTimer ? at + on.minutes * 60_000 : null, left: isTimer ? on.times : null, what };
}

/** What is waited for from outside: errors and the like are looked for when they are thrown. */
export function isAwaited({ kind }: Trigger): boolean {
  return kind === "message" || kind === "timer" || kind === "signal" || kind === "condition";
}
