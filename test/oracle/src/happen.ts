import type { Block, Edge, Handler } from "./block.ts";
import { catcherOf } from "./catcher.ts";
import { begin, beginScope, beginWork, end, finish, over, workDone } from "./structure.ts";
import { flattened, taken } from "./undo.ts";
import { all, attach, isScope, kill, type Node, scopeOf, type Wait, type World, waitsOf } from "./world.ts";

/** What happens to blocks that are under way: triggers, throws, interruption, undoing. */

export function act(world: World, parent: Node, block: Extract<Block, { kind: "throw" | "end" }>, slot: number): void {
  const { what } = block;
  if (what.kind === "error") {
    if (!raise(world, parent, "error", what.code)) world.ending = { kind: "failed", code: what.code };
    return;
  }
  if (what.kind === "terminate") {
    end(world, scopeOf(parent));
    return;
  }
  if (what.kind === "cancel") {
    cancel(world, scopeOf(parent));
    return;
  }
  if (what.kind === "compensation") {
    const queue = [...flattened(taken(scopeOf(parent), what.of))];
    undoNext(world, attach(world, parent, { kind: "undoing", queue, isCancelled: false }, slot));
    return;
  }
  if (what.kind === "escalation") raise(world, parent, "escalation", what.code);
  if (what.kind === "signal") broadcast(world, what.name);
  if (parent.alive) over(world, parent, slot, block.kind === "end" ? "dead" : "done");
}

/** All who wait for it now. */
function broadcast(world: World, name: string): void {
  const heard = all(world).flatMap((node) =>
    waitsOf(node).flatMap((wait) => (wait.on.kind === "signal" && wait.on.name === name ? [{ node, wait }] : [])),
  );
  for (const { node, wait } of heard) if (node.alive && waitsOf(node).includes(wait)) fire(world, node, wait);
}

/** Everything else in the transaction ends; what was done is undone; then it is left by its cancel event. */
function cancel(world: World, scope: Node): void {
  if (!isScope(scope)) return;
  for (const child of [...scope.children]) kill(child);
  scope.part.waits = [];
  scope.part.isInterrupted = true;
  const queue = [...flattened(taken(scope, null))];
  undoNext(world, attach(world, scope, { kind: "undoing", queue, isCancelled: true }));
}

export function undoNext(world: World, node: Node): void {
  if (node.part.kind !== "undoing") return;
  const task = node.part.queue.shift();
  if (task !== undefined) beginWork(world, node, { task, does: "work", index: null });
  else if (!node.part.isCancelled) finish(world, node, "done");
  else {
    const activity = scopeOf(node).parent;
    const edge =
      activity?.part.kind === "activity" && activity.part.activity.edges.find(({ on }) => on.kind === "cancel");
    if (activity && edge) interrupt(world, activity, edge);
  }
}

/** Something is thrown: the nearest who catches it does. */
export function raise(world: World, from: Node, kind: "error" | "escalation", code: string): boolean {
  const catcher = catcherOf(from, kind, code);
  if (catcher === null) return false;
  if (catcher.kind === "edge") fireEdge(world, catcher.node, catcher.edge);
  else fireHandler(world, catcher.node, catcher.handler);
  return true;
}

function fireEdge(world: World, activity: Node, edge: Edge): void {
  if (edge.interrupts) interrupt(world, activity, edge);
  else
    begin(
      world,
      attach(world, scopeOf(activity.parent ?? activity), { kind: "path", edge, rejoins: false }),
      edge.path,
      0,
    );
}

function interrupt(world: World, activity: Node, edge: Edge): void {
  const { parent, slot } = activity;
  kill(activity);
  if (parent !== null)
    begin(world, attach(world, parent, { kind: "path", edge, rejoins: edge.rejoins }, slot), edge.path, 0);
}

function fireHandler(world: World, scope: Node, handler: Handler): void {
  if (!isScope(scope)) return;
  if (handler.interrupts) {
    for (const child of [...scope.children]) kill(child);
    scope.part.waits = [];
    scope.part.isInterrupted = true;
  }
  beginScope(world, scope, handler.inside, null);
}

/** What was waited for has come. */
export function fire(world: World, node: Node, wait: Wait): void {
  if (node.part.kind === "work") {
    workDone(world, node, {});
    return;
  }
  switch (wait.what.kind) {
    case "here":
      finish(world, node, "done");
      return;
    case "branch":
      if (node.part.kind === "race") node.part.waits = [];
      begin(world, node, wait.what.body, 0);
      return;
    case "edge":
      rearm(node, wait);
      fireEdge(world, node, wait.what.edge);
      return;
    case "handler":
      rearm(node, wait);
      fireHandler(world, node, wait.what.handler);
  }
}

/** Messages and signals may come again; a timer as often as it says. */
function rearm({ part }: Node, wait: Wait): void {
  if (wait.on.kind !== "timer") return;
  if (wait.left !== null && wait.left > 1 && wait.dueAt !== null) {
    wait.left -= 1;
    wait.dueAt += wait.on.minutes * 60_000;
  } else if ("waits" in part) part.waits = part.waits.filter((each) => each !== wait);
}
