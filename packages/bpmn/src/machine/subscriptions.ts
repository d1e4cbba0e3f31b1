import type { Element, EventTrigger } from "../model/process.ts";
import { firstDue, nextDue, type ParsedTimer, parseTimer } from "../model/timer.ts";
import type { Row, Subscription } from "./state.ts";
import { evaluate, isTrue } from "./variables.ts";
import { index, issue, type Live, newPlace, newPlaceOf, push, Stuck } from "./working-state.ts";

/** What can be waited for; errors and the like are looked for when they are thrown. */
const WAITED_FOR: ReadonlySet<EventTrigger["kind"]> = new Set(["message", "signal", "timer", "conditional"]);

/** Begins to wait for all that triggers an event element, or a receive task, on behalf of a row. */
export function subscribeAll(live: Live, row: Row, element: Element): void {
  triggersOf(element).forEach((trigger, i) => {
    if (WAITED_FOR.has(trigger.kind)) subscribe(live, row, element, trigger, i);
  });
}

export function triggersOf(element: Element): readonly EventTrigger[] {
  if ("triggers" in element) return element.triggers;
  if (element.type !== "receiveTask" || element.message === null) return [];
  return [{ kind: "message", ...element.message }];
}

function subscribe(live: Live, row: Row, element: Element, trigger: EventTrigger, i: number): void {
  const made = { place: "", row: row.id, element: element.id, index: i, trigger, wasTrue: false };
  switch (trigger.kind) {
    case "message": {
      const key = trigger.key === null ? "" : textOf(evaluate(live, row, trigger.key));
      const place = placeFor(live, row, element);
      index(live, { ...made, place, name: null, due: null });
      issue(live, { kind: "message", place, name: trigger.name, key });
      return;
    }
    case "signal": {
      const name = textOf(evaluate(live, row, trigger.name));
      const place = placeFor(live, row, element);
      index(live, { ...made, place, name, due: null });
      issue(live, { kind: "signal", place, name, since: live.at });
      return;
    }
    case "timer": {
      const due = firstDue(timerOf(live, row, trigger), live.at);
      if (due !== null) arm(live, { ...made, name: null, due, place: placeFor(live, row, element) });
      return;
    }
    case "conditional": {
      const place = placeFor(live, row, element);
      const wasTrue = isTrue(live, row, trigger.condition);
      index(live, { ...made, place, name: null, due: null, wasTrue });
      if (wasTrue) push(live, { kind: "trigger", place, variables: {} });
      return;
    }
    default:
      return;
  }
}

/** Waits again for what has come: messages and signals for the next one, a cycle for its next time. */
export function subscribeAgain(
  live: Live,
  row: Row,
  element: Element,
  { trigger, due, index: i }: Subscription,
): boolean {
  if (trigger.kind !== "timer") {
    if (trigger.kind !== "conditional") subscribe(live, row, element, trigger, i);
    return true;
  }
  const next = due === null ? null : nextDue(timerOf(live, row, trigger), due);
  if (next === null) return false;
  const again = { row: row.id, element: element.id, index: i, trigger, name: null, wasTrue: false, due: next };
  arm(live, { ...again, place: placeFor(live, row, element) });
  return true;
}

function arm(live: Live, timer: Subscription): void {
  index(live, timer);
  if (timer.due !== null) issue(live, { kind: "timer", place: timer.place, dueAt: timer.due.at });
}

function timerOf(live: Live, row: Row, trigger: Extract<EventTrigger, { kind: "timer" }>): ParsedTimer {
  const text = textOf(evaluate(live, row, trigger.value));
  const parsed = parseTimer(trigger.timer, text);
  if (parsed === null) throw new Stuck("invalid", `${text} is no ISO 8601 ${trigger.timer}`);
  return parsed;
}

/** The event's own name in the journal; under its row's where that has the same element. */
function placeFor(live: Live, row: Row, element: Element): string {
  return row.element === element.id ? newPlaceOf(row, "event") : newPlace(live, element.id);
}

export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
