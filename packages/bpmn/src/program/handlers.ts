import { CriticalError } from "pawl";
import { type Element, type Listener, NODE_TYPE, type TaskType } from "../model/process.ts";

/** The argument of a task handler. */
export interface Job {
  readonly runId: string;
  readonly process: string;
  /** The business key of the instance. Null if it has none. */
  readonly businessKey: string | null;
  /** The user who started the instance. Null if unknown. */
  readonly startedBy: string | null;
  /** The element of the model: id, name, script, properties. */
  readonly element: Element;
  /** The variables that the element sees, including its mapped inputs. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Writes a line to the engine's log, with the run and the element. */
  readonly log: (level: "info" | "warn" | "error", text: string, fields?: Readonly<Record<string, unknown>>) => void;
  /** Aborted when the element is interrupted, or when another worker takes over the run. */
  readonly signal: AbortSignal;
  /** The same for every attempt. Pass it to services that support idempotency keys. */
  readonly idempotencyKey: string;
  /** The event of the listener that is called. Omitted when a task is executed. */
  readonly listener?: Listener["event"];
}

/** Executes a task, once per token. The result becomes variables. A thrown `BpmnError` is handled by the model. */
export type TaskHandler = (job: Job) => unknown;

/** Handlers by the name in the element (`zeebe:taskDefinition type`, `camunda:topic`, `pawl:handler`), or by element id. */
export type Handlers = Readonly<Record<string, TaskHandler>>;

/** Handlers for all tasks of a type that have no handler by name. */
export type TypeHandlers = { readonly [Type in TaskType | "throwEvent"]?: TaskHandler };

/** Handlers of the node types that an application adds, by the type in a JSON graph or by the property `nodeType` of a service task. */
export type NodeTypes = Readonly<Record<string, TaskHandler>>;

export interface HandlerTable {
  readonly handlers: Handlers;
  readonly tasks: TypeHandlers;
  readonly nodeTypes: NodeTypes;
}

/** Returns the handler of an element. A missing handler is an error that is not retried. */
export function handlerOf({ handlers, tasks, nodeTypes }: HandlerTable, element: Element): TaskHandler {
  const named = "handler" in element ? element.handler : null;
  const type = element.properties[NODE_TYPE];
  if (type !== undefined && named === null) {
    const found = Object.hasOwn(nodeTypes, type) ? nodeTypes[type] : undefined;
    if (found !== undefined) return found;
    throw new NoHandlerError(`${element.id} is a node of type ${type}, which is not among the nodeTypes; register it`);
  }
  for (const name of [named, element.id]) {
    const found = name !== null && Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (found !== undefined) return found;
  }
  const ofType = isTaskType(element) ? tasks[element.type] : tasks.throwEvent;
  if (ofType !== undefined && named === null) return ofType;
  const wanted = named === null ? `one for every ${element.type}, or one named ${element.id}` : `one named ${named}`;
  throw new NoHandlerError(`${element.id} has no handler; register ${wanted}`);
}

/** Returns the handler of a listener. A missing handler is an error that is not retried. */
export function listenerHandlerOf(
  { handlers }: HandlerTable,
  { id }: Element,
  { event, handler }: Listener,
): TaskHandler {
  const found = Object.hasOwn(handlers, handler) ? handlers[handler] : undefined;
  if (found !== undefined) return found;
  throw new NoHandlerError(`the ${event} listener of ${id} has no handler; register one named ${handler}`);
}

function isTaskType(element: Element): element is Extract<Element, { type: TaskType }> {
  return "script" in element;
}

/** Apart from other failures: the incident says that the application lacks something, and no attempt is repeated. */
export class NoHandlerError extends CriticalError {
  readonly isNoHandler = true;
}
