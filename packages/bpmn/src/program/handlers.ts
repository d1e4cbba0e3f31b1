import { CriticalError } from "pawl";
import type { Element, TaskType } from "../model/process.ts";

/** What the handler of a task is given. */
export interface Job {
  readonly runId: string;
  readonly process: string;
  /** Of the instance; null: it has none. */
  readonly businessKey: string | null;
  /** The element as the model has it: its id, name, script, properties. */
  readonly element: Element;
  /** The variables that the element sees; inputs that it maps are among them. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** 1 for the first try. */
  readonly attempt: number;
  /** Aborted when the element is interrupted, and when the run is lost to another worker. */
  readonly signal: AbortSignal;
  /** The same for every try: hand it to services that know such keys. */
  readonly idempotencyKey: string;
}

/** Does the work of a task, once per token. What it gives becomes variables; a `BpmnError` that it throws is the model's matter. */
export type TaskHandler = (job: Job) => unknown;

/** Handlers by the name that elements give (`zeebe:taskDefinition type`, `camunda:topic`, `pawl:handler`), or by their id. */
export type Handlers = Readonly<Record<string, TaskHandler>>;

/** Handlers for all tasks of a type that have none of their own. */
export type TypeHandlers = { readonly [Type in TaskType | "throwEvent"]?: TaskHandler };

export interface HandlerTable {
  readonly handlers: Handlers;
  readonly tasks: TypeHandlers;
}

/** The handler of an element; none is an error that no further try would mend. */
export function handlerOf({ handlers, tasks }: HandlerTable, element: Element): TaskHandler {
  const named = "handler" in element ? element.handler : null;
  for (const name of [named, element.id]) {
    const found = name !== null && Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (found !== undefined) return found;
  }
  const ofType = isTaskType(element) ? tasks[element.type] : tasks.throwEvent;
  if (ofType !== undefined && named === null) return ofType;
  const wanted = named === null ? `one for every ${element.type}, or one named ${element.id}` : `one named ${named}`;
  throw new NoHandlerError(`${element.id} has no handler; register ${wanted}`);
}

function isTaskType(element: Element): element is Extract<Element, { type: TaskType }> {
  return "script" in element;
}

class NoHandlerError extends CriticalError {
  readonly isNoHandler = true;
}
