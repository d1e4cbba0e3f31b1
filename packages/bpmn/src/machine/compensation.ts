import { type EventTrigger, isSubProcess } from "../model/process.ts";
import { closeEventSubProcesses } from "./catch-events.ts";
import type { Role, Row, Undoable } from "./state.ts";
import { addRow, clearScope, removeRow, removeTree, selfAndAncestors } from "./state-rows.ts";
import { compensationSubProcess } from "./throw-events.ts";
import { countCompletion, elementOf, enqueue, moveToken, spawnToken, type WorkingState } from "./working-state.ts";

type Compensation = Extract<EventTrigger, { kind: "compensation" }>;
type CompensationRole = Extract<Role, { kind: "undoing" }>;

/** Starts the compensation that an event throws: newest activity first. The event waits for its end unless `waits` is false. */
export function startCompensation(state: WorkingState, row: Row, { activity, waits }: Compensation): void {
  const queue = compensatedScopes(state, row)
    .flatMap((scope) => takeUndoables(scope, activity))
    .sort((a, b) => b.order - a.order);
  if (waits) {
    row.role = { kind: "undoing", queue, undo: [], after: "leave" };
    enqueue(state, { kind: "check", row: row.id });
    return;
  }
  const beside = addRow(state, {
    parent: row.parent,
    element: row.element,
    role: { kind: "undoing", queue, undo: [], after: "undone" },
  });
  enqueue(state, { kind: "check", row: beside.id });
  enqueue(state, { kind: "leave", row: row.id });
}

/** The scope of the event. For an event in an event sub-process, also the scope around the sub-process. */
function compensatedScopes(state: WorkingState, row: Row): readonly Row[] {
  const [scope, above] = [...selfAndAncestors(state, row)].slice(1);
  if (scope === undefined) return [];
  return elementOf(state, scope)?.type === "eventSubProcess" && above !== undefined ? [scope, above] : [scope];
}

/** Takes matching undoables out of the scope, so that each is undone once. */
function takeUndoables(scope: Row, activity: string | null): readonly Undoable[] {
  if (!("undo" in scope.role)) return [];
  const { undo } = scope.role;
  const mine = undo.filter(({ element }) => activity === null || element === activity);
  scope.role.undo = undo.filter((each) => !mine.includes(each));
  return mine;
}

/** Cancels a transaction: removes everything in it, compensates its completed activities, and continues at its cancel event. */
export function cancelTransaction(state: WorkingState, row: Row): void {
  for (const above of selfAndAncestors(state, row)) {
    if (elementOf(state, above)?.type !== "transaction" || above.role.kind !== "scope") continue;
    const queue = [...above.role.undo].reverse();
    clearScope(state, above);
    closeEventSubProcesses(state, above);
    above.role = { kind: "undoing", queue, undo: [], after: "cancelled" };
    enqueue(state, { kind: "check", row: above.id });
    return;
  }
}

/** Compensates one activity at a time: the next one starts when the previous one has ended. */
export function compensateNext(state: WorkingState, row: Row, role: CompensationRole): void {
  const [next, ...rest] = role.queue;
  if (next === undefined) {
    finishCompensation(state, row, role);
    return;
  }
  role.queue = rest;
  if (next.handler !== null) {
    const token = spawnToken(state, row);
    enqueue(state, { kind: "enter", element: next.handler, scope: row.id, result: null, token });
    return;
  }
  const own = compensationSubProcess(state, next.element);
  const queue =
    own === null ? [...next.inner].reverse() : [{ element: own, handler: own, inner: [], order: 0, variables: null }];
  const inner = addRow(state, {
    parent: row.id,
    element: next.element,
    role: { kind: "undoing", queue, undo: own === null ? [] : [...next.inner], after: "undone" },
    variables: { ...next.variables },
  });
  enqueue(state, { kind: "check", row: inner.id });
}

function finishCompensation(state: WorkingState, row: Row, { after }: CompensationRole): void {
  if (after === "undone") {
    removeRow(state, row);
    return;
  }
  if (after === "leave") {
    row.role = { kind: "plain" };
    enqueue(state, { kind: "leave", row: row.id });
    return;
  }
  const element = elementOf(state, row);
  const event = element !== null && isSubProcess(element) ? cancelBoundaryEvent(state, element.boundaries) : undefined;
  // The cancel event belongs to the whole loop, so one cancelled instance cancels all.
  const host = row.instance === null ? row : state.rows.get(row.parent);
  if (event !== undefined && host !== undefined) {
    enqueue(state, { kind: "enter", element: event, scope: host.parent, result: {}, token: moveToken(state, host) });
    removeTree(state, host);
    return;
  }
  row.role = { kind: "plain" };
  if (row.instance !== null) {
    enqueue(state, { kind: "complete", row: row.id });
    return;
  }
  countCompletion(state, row);
  enqueue(state, { kind: "leave", row: row.id });
}

function cancelBoundaryEvent(state: WorkingState, boundaries: readonly string[]): string | undefined {
  return boundaries.find((id) => {
    const event = state.process.elements.get(id);
    return event !== undefined && "triggers" in event && event.triggers.some(({ kind }) => kind === "cancel");
  });
}
