import type { Block, BoundaryEvent, Handler } from "./block.ts";
import { catcherOf, type Thrown } from "./catcher.ts";
import { flattened, takeEntries } from "./compensation.ts";
import {
  all,
  attach,
  isScope,
  kill,
  type Node,
  type OracleState,
  scopeOf,
  type Wait,
  waitsOf,
} from "./oracle-state.ts";
import { childEnded, end, finish, startBlock, startScope, startWork, workDone } from "./structure.ts";

/** Executes a throw or end event: error, termination, cancel, compensation, escalation or signal. */
export function throwEvent(
  oracle: OracleState,
  parent: Node,
  block: Extract<Block, { kind: "throw" | "end" }>,
  slot: number,
): void {
  const { thrown } = block;
  if (thrown.kind === "error") {
    if (!raise(oracle, parent, "error", thrown.code)) oracle.ending = { kind: "failed", code: thrown.code };
    return;
  }
  if (thrown.kind === "terminate") {
    end(oracle, scopeOf(parent));
    return;
  }
  if (thrown.kind === "cancel") {
    cancel(oracle, scopeOf(parent));
    return;
  }
  if (thrown.kind === "compensation") {
    const queue = [...flattened(takeEntries(scopeOf(parent), thrown.of))];
    undoNext(oracle, attach(oracle, parent, { kind: "undoing", queue, isCancelled: false }, slot));
    return;
  }
  if (thrown.kind === "escalation") raise(oracle, parent, "escalation", thrown.code);
  if (thrown.kind === "signal") broadcast(oracle, thrown.name);
  if (parent.alive) childEnded(oracle, parent, slot, block.kind === "end" ? "dead" : "done");
}

/** Fires all waits for the signal. */
function broadcast(oracle: OracleState, name: string): void {
  const receivers = all(oracle).flatMap((node) =>
    waitsOf(node).flatMap((wait) => (wait.on.kind === "signal" && wait.on.name === name ? [{ node, wait }] : [])),
  );
  for (const { node, wait } of receivers) if (node.alive && waitsOf(node).includes(wait)) fire(oracle, node, wait);
}

/** Cancels a transaction: ends all its blocks, compensates its activities, then leaves by its cancel event. */
function cancel(oracle: OracleState, scope: Node): void {
  if (!isScope(scope)) return;
  for (const child of [...scope.children]) kill(child);
  scope.part.waits = [];
  scope.part.isInterrupted = true;
  const queue = [...flattened(takeEntries(scope, null))];
  undoNext(oracle, attach(oracle, scope, { kind: "undoing", queue, isCancelled: true }));
}

export function undoNext(oracle: OracleState, node: Node): void {
  if (node.part.kind !== "undoing") return;
  const task = node.part.queue.shift();
  if (task !== undefined) startWork(oracle, node, { task, does: "work", index: null });
  else if (!node.part.isCancelled) finish(oracle, node, "done");
  else {
    const activity = scopeOf(node).parent;
    const boundary =
      activity?.part.kind === "activity" &&
      activity.part.activity.boundaryEvents.find(({ on }) => on.kind === "cancel");
    if (activity && boundary) interrupt(oracle, activity, boundary);
  }
}

/** Throws an error, an escalation or a technical failure to its nearest handler. False if there is none. */
export function raise(oracle: OracleState, from: Node, kind: Thrown, code: string): boolean {
  const catcher = catcherOf(from, kind, code);
  if (catcher === null) return false;
  if (catcher.kind === "boundary") fireBoundary(oracle, catcher.node, catcher.boundary);
  else fireHandler(oracle, catcher.node, catcher.handler);
  return true;
}

function fireBoundary(oracle: OracleState, activity: Node, boundary: BoundaryEvent): void {
  if (boundary.interrupts) interrupt(oracle, activity, boundary);
  else
    startBlock(
      oracle,
      attach(oracle, scopeOf(activity.parent ?? activity), { kind: "path", boundary, rejoins: false }),
      boundary.path,
      0,
    );
}

function interrupt(oracle: OracleState, activity: Node, boundary: BoundaryEvent): void {
  const { parent, slot } = activity;
  kill(activity);
  if (parent !== null)
    startBlock(
      oracle,
      attach(oracle, parent, { kind: "path", boundary, rejoins: boundary.rejoins }, slot),
      boundary.path,
      0,
    );
}

function fireHandler(oracle: OracleState, scope: Node, handler: Handler): void {
  if (!isScope(scope)) return;
  if (handler.interrupts) {
    for (const child of [...scope.children]) kill(child);
    scope.part.waits = [];
    scope.part.isInterrupted = true;
  }
  startScope(oracle, scope, handler.inside, null);
}

/** The awaited event has occurred. */
export function fire(oracle: OracleState, node: Node, wait: Wait): void {
  if (node.part.kind === "work") {
    workDone(oracle, node, {});
    return;
  }
  switch (wait.effect.kind) {
    case "here":
      finish(oracle, node, "done");
      return;
    case "branch":
      if (node.part.kind === "race") node.part.waits = [];
      startBlock(oracle, node, wait.effect.body, 0);
      return;
    case "boundary":
      rearm(node, wait);
      fireBoundary(oracle, node, wait.effect.boundary);
      return;
    case "handler":
      rearm(node, wait);
      fireHandler(oracle, node, wait.effect.handler);
  }
}

/** Messages and signals may occur again. A timer repeats as often as it declares. */
function rearm({ part }: Node, wait: Wait): void {
  if (wait.on.kind !== "timer") return;
  if (wait.left !== null && wait.left > 1 && wait.dueAt !== null) {
    wait.left -= 1;
    wait.dueAt += wait.on.minutes * 60_000;
  } else if ("waits" in part) part.waits = part.waits.filter((each) => each !== wait);
}
