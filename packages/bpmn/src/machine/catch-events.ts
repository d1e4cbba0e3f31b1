import { type Element, type EventElement, isActivity, isEvent, isSubProcess } from "../model/process.ts";
import { leavingFlows, takeFlows } from "./gateways.ts";
import type { Row, Subscription, Variables } from "./state.ts";
import { clearScope, removeRow, removeTree } from "./state-rows.ts";
import { subscribeAgain } from "./subscriptions.ts";
import { assign } from "./variables.ts";
import { elementOf, type Live, push, release, unsubscribe } from "./working-state.ts";

/** What a subscription waited for has come. */
export function triggered(live: Live, subscription: Subscription, variables: Variables): void {
  const row = live.rows.get(subscription.row);
  const element = live.process.elements.get(subscription.element);
  if (row === undefined || element === undefined) return;
  if (isEvent(element) && element.isParallel && othersWait(live, subscription)) {
    assign(live, row, variables);
    unsubscribe(live, subscription.place);
    return;
  }
  if (element.type === "boundaryEvent") {
    const isOpen = element.isInterrupting || keepOpen(live, row, element, subscription);
    if (!isOpen) unsubscribe(live, subscription.place);
    catchOnEdge(live, row, element, variables, element.isInterrupting);
  } else if (element.type === "startEvent") {
    const isOpen = element.isInterrupting || keepOpen(live, row, element, subscription);
    if (!isOpen) unsubscribe(live, subscription.place);
    const own = live.process.elements.get(element.scope);
    if (own !== undefined && isSubProcess(own)) catchInside(live, row, own, element, variables);
  } else {
    reached(live, row, element, subscription, variables);
  }
}

function othersWait(live: Live, { row, element, place }: Subscription): boolean {
  for (const other of live.owned.get(row) ?? []) {
    if (other !== place && live.subscriptions.get(other)?.element === element) return true;
  }
  return false;
}

/** What does not interrupt goes on waiting. If the kernel was not the one who told, its wait is still there. */
function keepOpen(live: Live, row: Row, element: Element, subscription: Subscription): boolean {
  if (live.commands.has(subscription.place) || subscription.trigger.kind === "conditional") return true;
  unsubscribe(live, subscription.place);
  subscribeAgain(live, row, element, subscription);
  return true;
}

/** An event in the flow, or after an event-based gateway, has come. */
function reached(live: Live, row: Row, element: Element, subscription: Subscription, variables: Variables): void {
  if (row.element !== element.id) {
    push(live, { kind: "enter", element: element.id, scope: row.parent, result: variables });
    removeRow(live, row);
    return;
  }
  unsubscribe(live, subscription.place);
  if (isEvent(element) && subscription.trigger.kind === "timer" && subscription.trigger.timer === "cycle") {
    if (subscribeAgain(live, row, element, subscription)) {
      takeFlows(live, row.parent, leavingFlows(live, row, element));
      return;
    }
  }
  row.result = variables;
  release(live, row.id);
  push(live, { kind: isActivity(element) ? "complete" : "leave", row: row.id });
}

/** An event on the edge of an activity: its token goes on beside the activity, which goes with it if that is interrupted. */
export function catchOnEdge(
  live: Live,
  host: Row,
  event: EventElement,
  variables: Variables,
  isInterrupting: boolean,
): void {
  push(live, { kind: "enter", element: event.id, scope: host.parent, result: variables });
  if (isInterrupting) removeTree(live, host);
}

/** An event sub-process begins inside its scope; if it interrupts, nothing else goes on there. */
export function catchInside(live: Live, scope: Row, own: Element, start: EventElement, variables: Variables): void {
  if (scope.role.kind !== "scope" || scope.role.interruptedBy !== null) return;
  if (start.isInterrupting || start.triggers.some(({ kind }) => kind === "error")) {
    scope.role.interruptedBy = own.id;
    closeStarts(live, scope);
    const { id } = scope;
    push(live, { kind: "enter", element: own.id, scope: id, result: variables });
    clearAllBut(live, scope);
    return;
  }
  push(live, { kind: "enter", element: own.id, scope: scope.id, result: variables });
}

/** No event sub-process of the scope begins any more. */
export function closeStarts(live: Live, scope: Row): void {
  for (const place of [...(live.owned.get(scope.id) ?? [])]) {
    const element = live.process.elements.get(live.subscriptions.get(place)?.element ?? "");
    if (element?.type === "startEvent") unsubscribe(live, place);
  }
}

/** All that lies in the scope goes, but the token that was sent on its way last. */
function clearAllBut(live: Live, scope: Row): void {
  const kept = live.queue.pop();
  clearScope(live, scope);
  if (kept === undefined) return;
  live.queue.push(kept);
  scope.pending = 1;
}

/** The row's element, if it is an activity that is not one of several instances: edges belong to the whole. */
export function hostElement(live: Live, row: Row): Extract<Element, { boundaries: readonly string[] }> | null {
  const element = elementOf(live, row);
  return element !== null && isActivity(element) && row.instance === null ? element : null;
}
