import { type Element, type EventElement, isActivity, isEvent, isSubProcess } from "../model/process.ts";
import { outgoingFlows, takeFlows } from "./gateways.ts";
import type { Row, Subscription, Variables } from "./state.ts";
import { clearScope, removeRow, removeTree } from "./state-rows.ts";
import { resubscribe } from "./subscriptions.ts";
import { assign } from "./variables.ts";
import {
  elementOf,
  enqueue,
  moveToken,
  releaseRow,
  spawnToken,
  unsubscribe,
  type WorkingState,
} from "./working-state.ts";

/** Handles the trigger that a subscription waited for. */
export function handleTrigger(state: WorkingState, subscription: Subscription, variables: Variables): void {
  const row = state.rows.get(subscription.row);
  const element = state.process.elements.get(subscription.element);
  if (row === undefined || element === undefined) return;
  if (isEvent(element) && element.isParallel && hasOtherTriggers(state, subscription)) {
    assign(state, row, variables);
    unsubscribe(state, subscription.location);
    return;
  }
  if (element.type === "boundaryEvent") {
    const isOpen = element.isInterrupting || keepOpen(state, row, element, subscription);
    if (!isOpen) unsubscribe(state, subscription.location);
    catchAtBoundary(state, row, element, variables, element.isInterrupting);
  } else if (element.type === "startEvent") {
    const isOpen = element.isInterrupting || keepOpen(state, row, element, subscription);
    if (!isOpen) unsubscribe(state, subscription.location);
    const own = state.process.elements.get(element.scope);
    if (own !== undefined && isSubProcess(own)) startEventSubProcess(state, row, own, element, variables);
  } else {
    handleFlowEvent(state, row, element, subscription, variables);
  }
}

function hasOtherTriggers(state: WorkingState, { row, element, location }: Subscription): boolean {
  for (const other of state.owned.get(row) ?? []) {
    if (other !== location && state.subscriptions.get(other)?.element === element) return true;
  }
  return false;
}

/**
 * Keeps a non-interrupting event open. Its command may still be open in the kernel, if another event of the machine triggered
 * it.
 */
function keepOpen(state: WorkingState, row: Row, element: Element, subscription: Subscription): boolean {
  if (state.commands.has(subscription.location) || subscription.trigger.kind === "conditional") return true;
  unsubscribe(state, subscription.location);
  resubscribe(state, row, element, subscription);
  return true;
}

/** Handles the trigger of an event in the flow, or of an event after an event-based gateway. */
function handleFlowEvent(
  state: WorkingState,
  row: Row,
  element: Element,
  subscription: Subscription,
  variables: Variables,
): void {
  if (row.element !== element.id) {
    // An event-based gateway.
    state.observer?.completed?.(row, {});
    const token = moveToken(state, row);
    enqueue(state, { kind: "enter", element: element.id, scope: row.parent, result: variables, token });
    removeRow(state, row);
    return;
  }
  unsubscribe(state, subscription.location);
  if (isEvent(element) && subscription.trigger.kind === "timer" && subscription.trigger.timer === "cycle") {
    if (resubscribe(state, row, element, subscription)) {
      takeFlows(state, row, outgoingFlows(state, row, element), { stays: true });
      return;
    }
  }
  row.result = variables;
  releaseRow(state, row.id);
  enqueue(state, { kind: isActivity(element) ? "complete" : "leave", row: row.id });
}

/** Triggers a boundary event: a token starts at the event, and the activity is removed if the event is interrupting. */
export function catchAtBoundary(
  state: WorkingState,
  host: Row,
  event: EventElement,
  variables: Variables,
  isInterrupting: boolean,
): void {
  const token = isInterrupting ? moveToken(state, host) : spawnToken(state, host);
  enqueue(state, { kind: "enter", element: event.id, scope: host.parent, result: variables, token });
  if (isInterrupting) removeTree(state, host);
}

/** Starts an event sub-process in its scope. An interrupting one removes everything else in the scope. */
export function startEventSubProcess(
  state: WorkingState,
  scope: Row,
  own: Element,
  start: EventElement,
  variables: Variables,
): void {
  if (scope.role.kind !== "scope" || scope.role.interruptedBy !== null) return;
  if (start.isInterrupting || start.triggers.some(({ kind }) => kind === "error")) {
    scope.role.interruptedBy = own.id;
    closeEventSubProcesses(state, scope);
    const { id } = scope;
    enqueue(state, { kind: "enter", element: own.id, scope: id, result: variables, token: spawnToken(state, scope) });
    clearExceptNewest(state, scope);
    return;
  }
  const token = spawnToken(state, scope);
  enqueue(state, { kind: "enter", element: own.id, scope: scope.id, result: variables, token });
}

/** Ends the subscriptions of all event sub-processes of a scope. */
export function closeEventSubProcesses(state: WorkingState, scope: Row): void {
  for (const location of [...(state.owned.get(scope.id) ?? [])]) {
    const element = state.process.elements.get(state.subscriptions.get(location)?.element ?? "");
    if (element?.type === "startEvent") unsubscribe(state, location);
  }
}

/** Clears a scope except for the newest work item, which is the token just added. */
function clearExceptNewest(state: WorkingState, scope: Row): void {
  const newest = state.queue.pop();
  clearScope(state, scope);
  if (newest === undefined) return;
  state.queue.push(newest);
  scope.pending = 1;
}

/** The activity of a row. Null for an instance of a loop, because boundary events belong to the whole loop. */
export function hostElement(state: WorkingState, row: Row): Extract<Element, { boundaries: readonly string[] }> | null {
  const element = elementOf(state, row);
  return element !== null && isActivity(element) && row.instance === null ? element : null;
}
