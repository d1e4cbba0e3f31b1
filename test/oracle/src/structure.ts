import type { Activity, Block, Fork, Scope } from "./block.ts";
import { undoOf } from "./compensation.ts";
import { isCollected, isEnough } from "./instances.ts";
import { chosen, isJoined, isLost } from "./joins.ts";
import {
  attach,
  type How,
  isAwaited,
  isScope,
  isTrue,
  kill,
  type Node,
  type OracleState,
  type Part,
  release,
  scopeOf,
  type Undo,
  waitFor,
} from "./oracle-state.ts";

export function startScope(oracle: OracleState, parent: Node | null, scope: Scope, index: number | null): void {
  const part: Part = { kind: "scope", scope, index, waits: [], isInterrupted: false, undo: [] };
  const node = attach(oracle, parent, part);
  if (parent === null) oracle.root = node;
  part.waits = scope.handlers
    .filter(({ on }) => isAwaited(on))
    .map((handler) => waitFor(oracle, handler.start, handler.on, { kind: "handler", handler }));
  startBlock(oracle, node, scope.body, 0);
}

export function startBlock(oracle: OracleState, parent: Node, block: Block, slot: number): void {
  switch (block.kind) {
    case "seq":
      next(oracle, attach(oracle, parent, { kind: "seq", blocks: block.blocks, at: 0 }, slot));
      return;
    case "activity":
      startActivity(oracle, parent, block, slot);
      return;
    case "catch":
      attach(
        oracle,
        parent,
        { kind: "catch", element: block.id, waits: [waitFor(oracle, block.id, block.on, { kind: "here" })] },
        slot,
      );
      return;
    case "link":
      childEnded(oracle, parent, slot, "done");
      return;
    case "fork":
      split(oracle, parent, block, slot);
      return;
    case "race": {
      const waits = block.branches.map(({ id, on, body }) => waitFor(oracle, id, on, { kind: "branch", body }));
      attach(oracle, parent, { kind: "race", race: block, waits }, slot);
      return;
    }
    case "repeat": {
      const node = attach(oracle, parent, { kind: "repeat", body: block.body, again: block.again }, slot);
      startBlock(oracle, node, block.body, 0);
      return;
    }
    case "throw":
    case "end":
      oracle.rules.throwEvent(oracle, parent, block, slot);
  }
}

/** A child has ended: completes its parent, or starts the parent's next block. */
export function childEnded(oracle: OracleState, parent: Node, slot: number, how: How): void {
  const { part } = parent;
  switch (part.kind) {
    case "seq":
      if (how === "dead") finish(oracle, parent, "dead");
      else {
        part.at += 1;
        next(oracle, parent);
      }
      return;
    case "fork":
      if (how === "done") part.arrived.add(slot);
      if (part.hasStarted && part.fork.gateway !== "inclusive") leaveForkIf(oracle, parent);
      else if (part.hasStarted && isLost(parent)) finish(oracle, parent, "dead");
      return;
    case "repeat":
      if (how === "done" && isTrue(oracle, part.again)) startBlock(oracle, parent, part.body, 0);
      else finish(oracle, parent, how);
      return;
    case "path":
      finish(oracle, parent, part.rejoins ? how : "dead");
      return;
    case "race":
      finish(oracle, parent, how);
      return;
    case "scope":
      if (parent.alive && parent.children.length === 0) end(oracle, parent);
      return;
    case "undoing":
      oracle.rules.undoNext(oracle, parent);
      return;
    case "activity":
      throw new Error("instances of activities end with instanceDone");
    case "catch":
    case "work":
    case "noFlow":
      throw new Error("a leaf has no child");
  }
}

export function finish(oracle: OracleState, node: Node, how: How): void {
  const { parent, slot } = node;
  kill(node);
  if (parent !== null) childEnded(oracle, parent, slot, how);
}

function next(oracle: OracleState, node: Node): void {
  if (node.part.kind !== "seq") return;
  const block = node.part.blocks[node.part.at];
  if (block === undefined) finish(oracle, node, "done");
  else startBlock(oracle, node, block, 0);
}

function split(oracle: OracleState, parent: Node, fork: Fork, slot: number): void {
  const slots = chosen(oracle, fork);
  if (slots.length === 0) {
    attach(oracle, parent, { kind: "noFlow", fork }, slot);
    return;
  }
  const part: Part = { kind: "fork", fork, arrived: new Set(), hasStarted: false };
  const node = attach(oracle, parent, part, slot);
  for (const each of slots) {
    const branch = fork.branches[each];
    if (branch !== undefined && node.alive) startBlock(oracle, node, branch.body, each);
  }
  part.hasStarted = true;
  if (!node.alive) return;
  if (fork.gateway !== "inclusive") leaveForkIf(oracle, node);
  else if (isLost(node)) finish(oracle, node, "dead");
}

function leaveForkIf(oracle: OracleState, node: Node): void {
  if (isJoined(node)) leaveFork(oracle, node);
  else if (isLost(node)) finish(oracle, node, "dead");
}

/** Branches that have not arrived continue outside of the fork. */
export function leaveFork(oracle: OracleState, node: Node): void {
  for (const child of [...node.children]) release(child);
  finish(oracle, node, "done");
}

function startActivity(oracle: OracleState, parent: Node, activity: Activity, slot: number): void {
  const part: Part = { kind: "activity", activity, waits: [], total: null, starts: 0, ended: 0, outputs: [], undo: [] };
  const node = attach(oracle, parent, part, slot);
  part.waits = activity.boundaryEvents
    .filter(({ on }) => isAwaited(on))
    .map((boundary) => waitFor(oracle, boundary.id, boundary.on, { kind: "boundary", boundary }));
  const { many } = activity;
  if (many === null) {
    part.total = 1;
    startInstance(oracle, node, null);
    return;
  }
  if (many.kind !== "loop") {
    part.total = typeof many.count === "number" ? many.count : Number(oracle.variables[many.count]);
    part.outputs.push(...Array.from({ length: part.total }, () => null));
  }
  const isNone = many.kind === "loop" ? many.testBefore && !isTrue(oracle, many.continues) : part.total === 0;
  if (isNone) complete(oracle, node);
  else if (many.kind === "parallel") {
    for (let i = 0; i < (part.total ?? 0) && node.alive; i += 1) startInstance(oracle, node, i);
  } else startInstance(oracle, node, 0);
}

function startInstance(oracle: OracleState, node: Node, index: number | null): void {
  if (node.part.kind !== "activity") return;
  const { id, does } = node.part.activity;
  node.part.starts += 1;
  if (does.kind === "sub") startScope(oracle, node, does.scope, index);
  else startWork(oracle, node, { task: id, does: does.kind, index });
}

export function startWork(
  oracle: OracleState,
  parent: Node,
  work: Pick<Extract<Part, { kind: "work" }>, "task" | "does" | "index">,
): void {
  const waits = work.does === "receive" ? [waitFor(oracle, work.task, { kind: "message" }, { kind: "here" })] : [];
  attach(oracle, parent, { kind: "work", ...work, waits, incident: null }, 0);
  if (work.does !== "receive") oracle.starts.set(work.task, (oracle.starts.get(work.task) ?? 0) + 1);
}

/** An instance of an activity has completed, and possibly the activity. */
function instanceDone(
  oracle: OracleState,
  node: Node,
  index: number | null,
  inner: readonly Undo[],
  result: unknown,
): void {
  if (node.part.kind !== "activity") return;
  const { part } = node;
  const { many } = part.activity;
  part.ended += 1;
  part.undo.push(...inner);
  if (index !== null) part.outputs[index] = result;
  if (isEnough(oracle, part)) complete(oracle, node);
  else if (many?.kind === "sequential" || many?.kind === "loop") startInstance(oracle, node, part.ended);
}

function complete(oracle: OracleState, node: Node): void {
  if (node.part.kind !== "activity" || node.parent === null) return;
  const { activity, outputs, undo } = node.part;
  if (activity.many !== null && activity.many.kind !== "loop" && activity.many.collects) {
    oracle.variables[`out_${activity.id}`] = [...outputs];
  }
  oracle.ids += 1;
  scopeOf(node.parent).part.undo.push(...undoOf(activity, undo, oracle.ids));
  finish(oracle, node, "done");
}

/** A scope has ended. */
export function end(oracle: OracleState, node: Node): void {
  if (!isScope(node)) return;
  const { parent, part } = node;
  kill(node);
  if (parent === null) oracle.ending = { kind: "completed" };
  else if (isScope(parent)) childEnded(oracle, parent, -1, "done");
  else instanceDone(oracle, parent, part.index, part.undo, null);
}

export function workDone(
  oracle: OracleState,
  node: Node,
  { r, ...variables }: Readonly<Record<string, unknown>>,
): void {
  if (node.part.kind !== "work" || node.parent === null) return;
  const { parent, part } = node;
  if (!isCollected(parent)) Object.assign(oracle.variables, variables);
  if (parent.part.kind === "undoing") finish(oracle, node, "done");
  else {
    kill(node);
    instanceDone(oracle, parent, part.index, [], r ?? null);
  }
}

/** Retries a split that had no flow to take. */
export function splitAgain(oracle: OracleState, node: Node): void {
  if (node.part.kind !== "noFlow" || node.parent === null) return;
  const { parent, slot, part } = node;
  kill(node);
  split(oracle, parent, part.fork, slot);
}
