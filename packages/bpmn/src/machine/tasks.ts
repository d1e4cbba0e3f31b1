import type { ActivityElement, TaskElement } from "../model/process.ts";
import type { Begin } from "./activities.ts";
import type { Row } from "./state.ts";
import { subscribeAll, textOf } from "./subscriptions.ts";
import { evaluate, visible } from "./variables.ts";
import { issue, type Live, newPlaceOf, push } from "./working-state.ts";

/** Nothing is done here; somebody else does it, or nobody has to. */
export const passThrough: Begin = (live, row) => push(live, { kind: "complete", row: row.id });

/** Work for a handler. */
export const work: Begin = (live, row) => {
  issue(live, { kind: "work", place: newPlaceOf(row, "work"), row: row.id });
};

/** A script in the language of expressions is one; another is work. */
export const script: Begin = (live, row, element) => {
  if (!isTask(element) || element.script === null || element.handler !== null || element.script.format !== "feel") {
    work(live, row, element);
    return;
  }
  const text = element.script.text.replace(/^\s*=/, "");
  const value = evaluate(live, row, { text, language: "feel", isStatic: false });
  row.result = resultOf(element, value);
  push(live, { kind: "complete", row: row.id });
};

/** A message to whoever waits for it, unless a handler sends it. */
export const send: Begin = (live, row, element) => {
  if (!isTask(element) || element.handler !== null || element.message === null) {
    work(live, row, element);
    return;
  }
  publish(live, row, element.message);
  push(live, { kind: "complete", row: row.id });
};

export const receive: Begin = (live, row, element) => {
  // The message that began the instance has come already.
  if (row.result !== null) push(live, { kind: "complete", row: row.id });
  else subscribeAll(live, row, element);
};

export const call: Begin = (live, row, element) => {
  if (element.type !== "callActivity") return;
  const called = textOf(evaluate(live, row, element.called));
  const { version, waits } = element;
  const place = newPlaceOf(row, "call");
  issue(live, { kind: "call", place, row: row.id, called, version, waits });
};

export function publish(live: Live, row: Row, message: NonNullable<TaskElement["message"]>): void {
  const key = message.key === null ? "" : textOf(evaluate(live, row, message.key));
  const { name } = message;
  const variables = visible(live, row);
  issue(live, { kind: "publish", place: newPlaceOf(row, "publish"), name, variables });
  issue(live, { kind: "correlate", place: newPlaceOf(row, "send"), name, key, variables });
}

/** What a handler gave, as variables. */
export function resultOf(element: ActivityElement, value: unknown): Readonly<Record<string, unknown>> {
  if (isTask(element) && element.resultVariable !== null) return { [element.resultVariable]: value ?? null };
  return isRecord(value) ? value : {};
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTask(element: ActivityElement): element is TaskElement {
  return "script" in element;
}
