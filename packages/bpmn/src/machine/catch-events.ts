import { type Element, type EventElement, isActivity, isEvent, isSubProcess } from "../model/process.ts";
import { outgoingFlows, takeFlows } from "./gateways.ts";
import type { Row, Subscription, Variables } from "./state.ts";
import { clearScope, removeRow, removeTree } from "./state-rows.ts";
import { resubscribe } from "./subscriptions.ts";
import { assign } from "./variables.ts";
import { elementOf, enqueue, releaseRow, unsubscribe, type WorkingState } from "./working-state.ts";

/** What a subscription waited for has come. */
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

/** What does not interrupt goes on waiting. If the kernel was not the one who told, its wait is still there. */
function keepOpen(state: WorkingState, row: Row, element: Element, subscription: Subscription): boolean {
  if (state.commands.has(subscription.location) || subscription.trigger.kind === "conditional") return true;
  unsubscribe(state, subscription.location);
  resubscribe(state, row, element, subscription);
  return true;
}

/** An event in the flow, or after an event-based gateway, has come. */
function handleFlowEvent(
  state: WorkingState,
  row: Row,
  element: Element,
  subscription: Subscription,
  variables: Variables,
): void {
  if (row.element !== element.id) {
    enqueue(state, { kind: "enter", element: element.id, scope: row.parent, result: variables });
    removeRow(state, row);
    return;
  }
  unsubscribe(state, subscription.location);
  if (isEvent(element) && subscription.trigger.kind === "timer" && subscription.trigger.timer === "cycle") {
    if (resubscribe(state, row, element, subscription)) {
      takeFlows(state, row.parent, outgoingFlows(state, row, element));
      return;
    }
  }
  row.result = variables;
  releaseRow(state, row.id);
  enqueue(state, { kind: isActivity(element) ? "complete" : "leave", row: row.id });
}

/** An event on the edge of an activity: its token goes on beside the activity, which goes with it if that is interrupted. */
export function catchAtBoundary(
  state: WorkingState,
  host: Row,
  event: EventElement,
  variables: Variables,
  isInterrupting: boolean,
): void {
  enqueue(state, { kind: "enter", element: event.id, scope: host.parent, result: variables });
  if (isInterrupting) removeTree(state, host);
}

/** An event sub-process begins inside its scope; if it interrupts, nothing else goes on there. */
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
    enqueue(state, { kind: "enter", element: own.id, scope: id, result: variables });
    clearExceptNewest(state, scope);
    return;
  }
  enqueue(state, { kind: "enter", element: own.id, scope: scope.id, result: variables });
}

/** No event sub-process of the scope begins any more. */
export function closeEventSubProcesses(state: WorkingState, scope: Row): void {
  for (const location of [...(state.owned.get(scope.id) ?? [])]) {
    const element = state.process.elements.get(state.subscriptions.get(location)?.element ?? "");
    if (element?.type === "startEvent") unsubscribe(state, location);
  }
}

/** All that lies in the scope goes, but the token that was sent on its way last. */
function clearExceptNewest(state: WorkingState, scope: Row): void {
  const kept = state.queue.pop();
  clearScope(state, scope);
  if (kept === undefined) return;
  state.queue.push(kept);
  scope.pending = 1;
}

/** The row's element, if it is an activity that is not one of several instances: edges belong to the whole. */
export function hostElement(state: WorkingState, row: Row): Extract<Element, { boundaries: readonly string[] }> | null {
  const element = elementOf(state, row);
  return element !== null && isActivity(element) && row.instance === null ? element : null;
}
