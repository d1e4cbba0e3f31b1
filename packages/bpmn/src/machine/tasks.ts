import type { ActivityElement, TaskElement } from "../model/process.ts";
import type { StartActivity } from "./activities.ts";
import type { Row } from "./state.ts";
import { nameOf, subscribeAll, textOf } from "./subscriptions.ts";
import { evaluate, visibleVariables } from "./variables.ts";
import { enqueue, issue, newRowLocation, type WorkingState } from "./working-state.ts";

/** A task without work for the engine, such as a manual task, completes at once. */
export const passThrough: StartActivity = (state, row) => enqueue(state, { kind: "complete", row: row.id });

/** Requests a call of the handler. */
export const work: StartActivity = (state, row) => {
  issue(state, { kind: "work", location: newRowLocation(row, "work"), row: row.id });
};

/** Evaluates a FEEL script in the machine. Scripts in other languages go to a handler. */
export const script: StartActivity = (state, row, element) => {
  if (!isTask(element) || element.script === null || element.handler !== null || element.script.format !== "feel") {
    work(state, row, element);
    return;
  }
  const text = element.script.text.replace(/^\s*=/, "");
  const value = evaluate(state, row, { text, language: "feel", isStatic: false });
  row.result = resultOf(element, value);
  enqueue(state, { kind: "complete", row: row.id });
};

/** Sends the message of the task, unless the task has a handler. */
export const send: StartActivity = (state, row, element) => {
  if (!isTask(element) || element.handler !== null || element.message === null) {
    work(state, row, element);
    return;
  }
  publish(state, row, element.message);
  enqueue(state, { kind: "complete", row: row.id });
};

export const receive: StartActivity = (state, row, element) => {
  // The message that started the instance completes the task.
  if (row.result !== null) enqueue(state, { kind: "complete", row: row.id });
  else subscribeAll(state, row, element);
};

export const call: StartActivity = (state, row, element) => {
  if (element.type !== "callActivity") return;
  const called = textOf(evaluate(state, row, element.called));
  const { version, waits, binding } = element;
  const location = newRowLocation(row, "call");
  issue(state, { kind: "call", location, row: row.id, called, version, waits, ...(binding && { binding }) });
};

export function publish(state: WorkingState, row: Row, message: NonNullable<TaskElement["message"]>): void {
  const key = message.key === null ? "" : textOf(evaluate(state, row, message.key));
  const name = nameOf(state, row, message);
  const variables = visibleVariables(state, row);
  issue(state, { kind: "publish", location: newRowLocation(row, "publish"), name, variables });
  issue(state, { kind: "correlate", location: newRowLocation(row, "send"), name, key, variables });
}

/** The result of a handler, as variables. */
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
