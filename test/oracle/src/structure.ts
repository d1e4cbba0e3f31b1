import type { Activity, Block, Fork, Scope } from "./block.ts";
import { isEnough, isGathered } from "./instances.ts";
import { chosen, isJoined, isLost } from "./joins.ts";
import { undoOf } from "./undo.ts";
import {
  attach,
  type How,
  isAwaited,
  isScope,
  isTrue,
  kill,
  type Node,
  type Part,
  release,
  scopeOf,
  type Undo,
  type World,
  waitFor,
} from "./world.ts";

/** How blocks begin and end, and what the end of one means for the block around it. */

export function beginScope(world: World, parent: Node | null, scope: Scope, index: number | null): void {
  const part: Part = { kind: "scope", scope, index, waits: [], isInterrupted: false, undo: [] };
  const node = attach(world, parent, part);
  if (parent === null) world.root = node;
  part.waits = scope.handlers
    .filter(({ on }) => isAwaited(on))
    .map((handler) => waitFor(world, handler.start, handler.on, { kind: "handler", handler }));
  begin(world, node, scope.body, 0);
}

export function begin(world: World, parent: Node, block: Block, slot: number): void {
  switch (block.kind) {
    case "seq":
      next(world, attach(world, parent, { kind: "seq", blocks: block.blocks, at: 0 }, slot));
      return;
    case "activity":
      beginActivity(world, parent, block, slot);
      return;
    case "catch":
      attach(
        world,
        parent,
        { kind: "catch", element: block.id, waits: [waitFor(world, block.id, block.on, { kind: "here" })] },
        slot,
      );
      return;
    case "link":
      over(world, parent, slot, "done");
      return;
    case "fork":
      split(world, parent, block, slot);
      return;
    case "race": {
      const waits = block.branches.map(({ id, on, body }) => waitFor(world, id, on, { kind: "branch", body }));
      attach(world, parent, { kind: "race", race: block, waits }, slot);
      return;
    }
    case "repeat": {
      const node = attach(world, parent, { kind: "repeat", body: block.body, again: block.again }, slot);
      begin(world, node, block.body, 0);
      return;
    }
    case "throw":
    case "end":
      world.rules.act(world, parent, block, slot);
  }
}

/** A child is over: what does that mean for its parent? */
export function over(world: World, parent: Node, slot: number, how: How): void {
  const { part } = parent;
  switch (part.kind) {
    case "seq":
      if (how === "dead") finish(world, parent, "dead");
      else {
        part.at += 1;
        next(world, parent);
      }
      return;
    case "fork":
      if (how === "done") part.arrived.add(slot);
      if (part.hasBegun && part.fork.gateway !== "inclusive") leaveForkIf(world, parent);
      else if (part.hasBegun && isLost(parent)) finish(world, parent, "dead");
      return;
    case "repeat":
      if (how === "done" && isTrue(world, part.again)) begin(world, parent, part.body, 0);
      else finish(world, parent, how);
      return;
    case "path":
      finish(world, parent, part.rejoins ? how : "dead");
      return;
    case "race":
      finish(world, parent, how);
      return;
    case "scope":
      if (parent.alive && parent.children.length === 0) end(world, parent);
      return;
    case "undoing":
      world.rules.undoNext(world, parent);
      return;
    case "activity":
      throw new Error("instances of activities end otherwise");
    case "catch":
    case "work":
    case "noFlow":
      throw new Error("a leaf has no child");
  }
}

export function finish(world: World, node: Node, how: How): void {
  const { parent, slot } = node;
  kill(node);
  if (parent !== null) over(world, parent, slot, how);
}

function next(world: World, node: Node): void {
  if (node.part.kind !== "seq") return;
  const block = node.part.blocks[node.part.at];
  if (block === undefined) finish(world, node, "done");
  else begin(world, node, block, 0);
}

function split(world: World, parent: Node, fork: Fork, slot: number): void {
  const slots = chosen(world, fork);
  if (slots.length === 0) {
    attach(world, parent, { kind: "noFlow", fork }, slot);
    return;
  }
  const part: Part = { kind: "fork", fork, arrived: new Set(), hasBegun: false };
  const node = attach(world, parent, part, slot);
  for (const each of slots) {
    const branch = fork.branches[each];
    if (branch !== undefined && node.alive) begin(world, node, branch.body, each);
  }
  part.hasBegun = true;
  if (!node.alive) return;
  if (fork.gateway !== "inclusive") leaveForkIf(world, node);
  else if (isLost(node)) finish(world, node, "dead");
}

function leaveForkIf(world: World, node: Node): void {
  if (isJoined(node)) leaveFork(world, node);
  else if (isLost(node)) finish(world, node, "dead");
}

/** What has not arrived goes on beside. */
export function leaveFork(world: World, node: Node): void {
  for (const child of [...node.children]) release(child);
  finish(world, node, "done");
}

function beginActivity(world: World, parent: Node, activity: Activity, slot: number): void {
  const part: Part = { kind: "activity", activity, waits: [], total: null, begun: 0, ended: 0, outputs: [], undo: [] };
  const node = attach(world, parent, part, slot);
  part.waits = activity.edges
    .filter(({ on }) => isAwaited(on))
    .map((edge) => waitFor(world, edge.id, edge.on, { kind: "edge", edge }));
  const { many } = activity;
  if (many === null) {
    part.total = 1;
    beginInstance(world, node, null);
    return;
  }
  if (many.kind !== "rounds") {
    part.total = typeof many.count === "number" ? many.count : Number(world.variables[many.count]);
    part.outputs.push(...Array.from({ length: part.total }, () => null));
  }
  const isNone = many.kind === "rounds" ? many.testBefore && !isTrue(world, many.goesOn) : part.total === 0;
  if (isNone) complete(world, node);
  else if (many.kind === "parallel") {
    for (let i = 0; i < (part.total ?? 0) && node.alive; i += 1) beginInstance(world, node, i);
  } else beginInstance(world, node, 0);
}

function beginInstance(world: World, node: Node, index: number | null): void {
  if (node.part.kind !== "activity") return;
  const { id, does } = node.part.activity;
  node.part.begun += 1;
  if (does.kind === "sub") beginScope(world, node, does.scope, index);
  else beginWork(world, node, { task: id, does: does.kind, index });
}

export function beginWork(
  world: World,
  parent: Node,
  work: Pick<Extract<Part, { kind: "work" }>, "task" | "does" | "index">,
): void {
  const waits = work.does === "receive" ? [waitFor(world, work.task, { kind: "message" }, { kind: "here" })] : [];
  attach(world, parent, { kind: "work", ...work, waits, incident: null }, 0);
  if (work.does !== "receive") world.begun.set(work.task, (world.begun.get(work.task) ?? 0) + 1);
}

/** An instance of an activity is done: the activity may be, too. */
function instanceDone(world: World, node: Node, index: number | null, inner: readonly Undo[], result: unknown): void {
  if (node.part.kind !== "activity") return;
  const { part } = node;
  const { many } = part.activity;
  part.ended += 1;
  part.undo.push(...inner);
  if (index !== null) part.outputs[index] = result;
  if (isEnough(world, part)) complete(world, node);
  else if (many?.kind === "sequential" || many?.kind === "rounds") beginInstance(world, node, part.ended);
}

function complete(world: World, node: Node): void {
  if (node.part.kind !== "activity" || node.parent === null) return;
  const { activity, outputs, undo } = node.part;
  if (activity.many !== null && activity.many.kind !== "rounds" && activity.many.gathers) {
    world.variables[`out_${activity.id}`] = [...outputs];
  }
  world.ids += 1;
  scopeOf(node.parent).part.undo.push(...undoOf(activity, undo, world.ids));
  finish(world, node, "done");
}

/** A scope is over. */
export function end(world: World, node: Node): void {
  if (!isScope(node)) return;
  const { parent, part } = node;
  kill(node);
  if (parent === null) world.ending = { kind: "completed" };
  else if (isScope(parent)) over(world, parent, -1, "done");
  else instanceDone(world, parent, part.index, part.undo, null);
}

export function workDone(world: World, node: Node, { r, ...variables }: Readonly<Record<string, unknown>>): void {
  if (node.part.kind !== "work" || node.parent === null) return;
  const { parent, part } = node;
  if (!isGathered(parent)) Object.assign(world.variables, variables);
  if (parent.part.kind === "undoing") finish(world, node, "done");
  else {
    kill(node);
    instanceDone(world, parent, part.index, [], r ?? null);
  }
}

/** A split that led nowhere is tried again. */
export function splitAgain(world: World, node: Node): void {
  if (node.part.kind !== "noFlow" || node.parent === null) return;
  const { parent, slot, part } = node;
  kill(node);
  split(world, parent, part.fork, slot);
}
