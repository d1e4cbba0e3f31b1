import type { Element, EventTrigger, Expression } from "../model/process.ts";
import { firstDue, nextDue, notATimer, type ParsedTimer, parseTimer } from "../model/timer.ts";
import type { Row, Subscription } from "./state.ts";
import { evaluate, isTrue } from "./variables.ts";
import {
  addSubscription,
  enqueue,
  IncidentError,
  issue,
  newLocation,
  newRowLocation,
  type WorkingState,
} from "./working-state.ts";

/** Triggers with a subscription. Errors, escalations and compensation are caught when they are thrown. */
const WAITABLE: ReadonlySet<EventTrigger["kind"]> = new Set(["message", "signal", "timer", "conditional"]);

/** Subscribes a row to all triggers of an event element or receive task. */
export function subscribeAll(state: WorkingState, row: Row, element: Element): void {
  triggersOf(element).forEach((trigger, i) => {
    if (WAITABLE.has(trigger.kind)) subscribe(state, row, element, trigger, i);
  });
}

export function triggersOf(element: Element): readonly EventTrigger[] {
  if ("triggers" in element) return element.triggers;
  if (element.type !== "receiveTask" || element.message === null) return [];
  return [{ kind: "message", ...element.message }];
}

function subscribe(state: WorkingState, row: Row, element: Element, trigger: EventTrigger, i: number): void {
  const made = { location: "", row: row.id, element: element.id, index: i, trigger, wasTrue: false };
  switch (trigger.kind) {
    case "message": {
      const key = trigger.key === null ? "" : textOf(evaluate(state, row, trigger.key));
      const location = eventLocation(state, row, element);
      addSubscription(state, { ...made, location, name: null, due: null });
      issue(state, { kind: "message", location, name: nameOf(state, row, trigger), key });
      return;
    }
    case "signal": {
      const name = trigger.name.isStatic ? trigger.name.text : computedText(state, row, trigger.name);
      const location = eventLocation(state, row, element);
      addSubscription(state, { ...made, location, name, due: null });
      issue(state, { kind: "signal", location, name, since: state.at });
      return;
    }
    case "timer": {
      const due = firstDue(timerOf(state, row, trigger), state.at);
      if (due !== null)
        subscribeTimer(state, { ...made, name: null, due, location: eventLocation(state, row, element) });
      return;
    }
    case "conditional": {
      const location = eventLocation(state, row, element);
      const wasTrue = isTrue(state, row, trigger.condition);
      addSubscription(state, { ...made, location, name: null, due: null, wasTrue });
      if (wasTrue) enqueue(state, { kind: "trigger", location, variables: {} });
      return;
    }
    default:
      return;
  }
}

/**
 * Subscribes again after a trigger occurred: to the next message or signal, or to the next time of a cycle. False if a timer has
 * no next time.
 */
export function resubscribe(
  state: WorkingState,
  row: Row,
  element: Element,
  { trigger, due, index: i }: Subscription,
): boolean {
  if (trigger.kind !== "timer") {
    if (trigger.kind !== "conditional") subscribe(state, row, element, trigger, i);
    return true;
  }
  const next = due === null ? null : nextDue(timerOf(state, row, trigger), due);
  if (next === null) return false;
  const again = { row: row.id, element: element.id, index: i, trigger, name: null, wasTrue: false, due: next };
  subscribeTimer(state, { ...again, location: eventLocation(state, row, element) });
  return true;
}

function subscribeTimer(state: WorkingState, timer: Subscription): void {
  addSubscription(state, timer);
  if (timer.due !== null) issue(state, { kind: "timer", location: timer.location, dueAt: timer.due.at });
}

function timerOf(state: WorkingState, row: Row, trigger: Extract<EventTrigger, { kind: "timer" }>): ParsedTimer {
  const text = textOf(evaluate(state, row, trigger.value));
  const parsed = parseTimer(trigger.timer, text);
  if (parsed === null) throw new IncidentError("invalid", notATimer(trigger.timer, text));
  return parsed;
}

/** The name of a message, evaluated if it is computed. A name without a value is an incident, because no instance could receive it. */
export function nameOf(
  state: WorkingState,
  row: Row,
  { name, computed }: { readonly name: string; readonly computed?: Expression },
): string {
  return computed === undefined ? name : computedText(state, row, computed);
}

/** The text of a computed name or code. */
export function computedText(state: WorkingState, row: Row, expression: Expression): string {
  const text = textOf(evaluate(state, row, expression));
  if (text === "") throw new IncidentError("invalid", `the name "${expression.text}" of ${row.element} has no value`);
  return text;
}

/** The location of an event: below its row if the row is the event itself, otherwise at the top. */
function eventLocation(state: WorkingState, row: Row, element: Element): string {
  return row.element === element.id ? newRowLocation(row, "event") : newLocation(state, element.id);
}

export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
