import { type EventTrigger, isSubProcess } from "../model/process.ts";
import { closeStarts } from "./catch-events.ts";
import type { Role, Row, Undoable } from "./state.ts";
import { addRow, clearScope, removeRow, removeTree, upward } from "./state-rows.ts";
import { compensationInside } from "./throw-events.ts";
import { count, elementOf, type Live, push } from "./working-state.ts";

type Compensation = Extract<EventTrigger, { kind: "compensation" }>;
type Undoing = Extract<Role, { kind: "undoing" }>;

/** An event that throws compensation undoes what its scope has done, newest first, and waits for it unless it says otherwise. */
export function startUndoing(live: Live, row: Row, { activity, waits }: Compensation): void {
  const queue = scopesOf(live, row)
    .flatMap((scope) => taken(scope, activity))
    .sort((a, b) => b.order - a.order);
  if (waits) {
    row.role = { kind: "undoing", queue, undo: [], after: "leave" };
    push(live, { kind: "check", row: row.id });
    return;
  }
  const beside = addRow(live, {
    parent: row.parent,
    element: row.element,
    role: { kind: "undoing", queue, undo: [], after: "undone" },
  });
  push(live, { kind: "check", row: beside.id });
  push(live, { kind: "leave", row: row.id });
}

/** The scope of the event; thrown in an event sub-process, it means what that lies in as well. */
function scopesOf(live: Live, row: Row): readonly Row[] {
  const [scope, above] = [...upward(live, row)].slice(1);
  if (scope === undefined) return [];
  return elementOf(live, scope)?.type === "eventSubProcess" && above !== undefined ? [scope, above] : [scope];
}

/** Each is undone once. */
function taken(scope: Row, activity: string | null): readonly Undoable[] {
  if (!("undo" in scope.role)) return [];
  const { undo } = scope.role;
  const mine = undo.filter(({ element }) => activity === null || element === activity);
  scope.role.undo = undo.filter((each) => !mine.includes(each));
  return mine;
}

/** A transaction is cancelled: nothing in it goes on, what was done in it is undone, and it is left by its cancel event. */
export function cancelTransaction(live: Live, row: Row): void {
  for (const above of upward(live, row)) {
    if (elementOf(live, above)?.type !== "transaction" || above.role.kind !== "scope") continue;
    const queue = [...above.role.undo].reverse();
    clearScope(live, above);
    closeStarts(live, above);
    above.role = { kind: "undoing", queue, undo: [], after: "cancelled" };
    push(live, { kind: "check", row: above.id });
    return;
  }
}

/** One after the other: the next one begins when the one before is done. */
export function undoNext(live: Live, row: Row, role: Undoing): void {
  const [next, ...rest] = role.queue;
  if (next === undefined) {
    undone(live, row, role);
    return;
  }
  role.queue = rest;
  if (next.handler !== null) {
    push(live, { kind: "enter", element: next.handler, scope: row.id, result: null });
    return;
  }
  const own = compensationInside(live, next.element);
  const queue =
    own === null ? [...next.inner].reverse() : [{ element: own, handler: own, inner: [], order: 0, variables: null }];
  const inner = addRow(live, {
    parent: row.id,
    element: next.element,
    role: { kind: "undoing", queue, undo: own === null ? [] : [...next.inner], after: "undone" },
    variables: { ...next.variables },
  });
  push(live, { kind: "check", row: inner.id });
}

function undone(live: Live, row: Row, { after }: Undoing): void {
  if (after === "undone") {
    removeRow(live, row);
    return;
  }
  if (after === "leave") {
    row.role = { kind: "plain" };
    push(live, { kind: "leave", row: row.id });
    return;
  }
  const element = elementOf(live, row);
  const event = element !== null && isSubProcess(element) ? cancelEvent(live, element.boundaries) : undefined;
  // The event is on the edge of the whole: with one of several instances, all are cancelled.
  const host = row.instance === null ? row : live.rows.get(row.parent);
  if (event !== undefined && host !== undefined) {
    push(live, { kind: "enter", element: event, scope: host.parent, result: {} });
    removeTree(live, host);
    return;
  }
  row.role = { kind: "plain" };
  if (row.instance !== null) {
    push(live, { kind: "complete", row: row.id });
    return;
  }
  count(live, row.element);
  push(live, { kind: "leave", row: row.id });
}

function cancelEvent(live: Live, boundaries: readonly string[]): string | undefined {
  return boundaries.find((id) => {
    const event = live.process.elements.get(id);
    return event !== undefined && "triggers" in event && event.triggers.some(({ kind }) => kind === "cancel");
  });
}
