import type {
  CallElement,
  Element,
  EventElement,
  GatewayElement,
  SubProcessElement,
  TaskElement,
  TaskType,
} from "../model/process.ts";
import { expressionIn, textOrComputed } from "./expression-text.ts";
import { type Extensions, extensionsOf } from "./extensions.ts";
import { countIn, flagIn, idIn, type Model, tagOf, textIn } from "./moddle.ts";
import { dataInputs, dataOutputs } from "./read-data.ts";
import { loopOf } from "./read-loop.ts";
import { keyOf, triggersOf } from "./read-triggers.ts";
import { messageName, type Reading } from "./reading.ts";

/** How an element lies among the others. */
export interface Place {
  readonly scope: string;
  readonly incoming: readonly string[];
  readonly outgoing: readonly string[];
  readonly boundaries: readonly string[];
  readonly compensatedBy: string | null;
}

const TASKS: ReadonlySet<string> = new Set<TaskType>([
  "task",
  "manualTask",
  "userTask",
  "serviceTask",
  "scriptTask",
  "businessRuleTask",
  "sendTask",
  "receiveTask",
]);

/** One flow node; null if it is of a type that is not run, which is a problem of the model. */
export function elementOf(reading: Reading, model: Model, place: Place): Element | null {
  const tag = tagOf(model);
  if (TASKS.has(tag)) return taskOf(reading, model, place, tag as TaskType);
  switch (tag) {
    case "startEvent":
    case "intermediateCatchEvent":
    case "intermediateThrowEvent":
    case "endEvent":
    case "boundaryEvent":
      return eventOf(reading, model, place, tag);
    case "callActivity":
      return callOf(reading, model, place);
    case "subProcess":
    case "transaction":
    case "adHocSubProcess":
      return subProcessOf(reading, model, place, tag);
    case "exclusiveGateway":
    case "parallelGateway":
    case "inclusiveGateway":
    case "complexGateway":
    case "eventBasedGateway":
      return gatewayOf(reading, model, place, tag);
    default:
      reading.problems.add(model.id ?? null, reading.lineOf(model.id ?? null), `a ${tag} is not run; replace it`);
      return null;
  }
}

function nodeOf(reading: Reading, model: Model, { scope, incoming, outgoing }: Place, { properties }: Extensions) {
  const id = model.id ?? "";
  return { id, name: textIn(model, "name"), scope, incoming, outgoing, line: reading.lineOf(id), properties };
}

function activityOf(reading: Reading, model: Model, place: Place, extensions: Extensions) {
  return {
    ...nodeOf(reading, model, place, extensions),
    default: idIn(model, "default"),
    loop: loopOf(reading, model),
    boundaries: place.boundaries,
    compensatedBy: place.compensatedBy,
    isForCompensation: flagIn(model, "isForCompensation"),
    startQuantity: countIn(model, "startQuantity", 1),
    completionQuantity: countIn(model, "completionQuantity", 1),
    inputs: [...dataInputs(model), ...extensions.inputs],
    outputs: [...extensions.outputs],
    dataOutputs: dataOutputs(model),
  };
}

function eventOf(reading: Reading, model: Model, place: Place, type: EventElement["type"]): EventElement {
  const extensions = extensionsOf(model);
  const name = type === "boundaryEvent" ? "cancelActivity" : "isInterrupting";
  return {
    ...nodeOf(reading, model, place, extensions),
    type,
    triggers: triggersOf(reading, model),
    isParallel: flagIn(model, "parallelMultiple"),
    isInterrupting: (model as unknown as Record<string, unknown>)[name] !== false,
    attachedTo: idIn(model, "attachedToRef"),
    outputs: extensions.outputs,
    handler: extensions.handler,
  };
}

function taskOf(reading: Reading, model: Model, place: Place, type: TaskType): TaskElement {
  const extensions = extensionsOf(model);
  const isMessage = type === "sendTask" || type === "receiveTask";
  const script = textIn(model, "script");
  return {
    ...activityOf(reading, model, place, extensions),
    type,
    handler: extensions.handler,
    script: script === null ? extensions.script : { text: script, format: textIn(model, "scriptFormat") },
    decision: extensions.decision,
    resultVariable: extensions.resultVariable,
    message: isMessage ? { name: messageName(reading, model, model), key: keyOf(model, model) } : null,
    instantiates: flagIn(model, "instantiate"),
    retry: extensions.retry,
  };
}

/** A called global task is a task at this place. */
function callOf(reading: Reading, model: Model, place: Place): CallElement | TaskElement {
  const extensions = extensionsOf(model);
  const called = reading.idOf(textIn(model, "calledElement") ?? "");
  const task = reading.globalTasks.get(called);
  const activity = activityOf(reading, model, place, extensions);
  if (task === undefined) {
    return {
      ...activity,
      type: "callActivity",
      called: extensions.called ?? textOrComputed(called),
      version: extensions.calledVersion,
      waits: extensions.waits,
    };
  }
  const own = extensionsOf(task);
  const text = reading.globalScripts.get(called);
  return {
    ...activity,
    type: globalType(tagOf(task)),
    handler: own.handler,
    script: text === undefined ? own.script : { text, format: textIn(task, "scriptLanguage") },
    decision: own.decision,
    resultVariable: own.resultVariable,
    message: null,
    instantiates: false,
    retry: own.retry,
  };
}

function globalType(tag: string): TaskType {
  const name = tag.slice("global".length);
  const type = name.slice(0, 1).toLowerCase() + name.slice(1);
  return TASKS.has(type) ? (type as TaskType) : "task";
}

function subProcessOf(
  reading: Reading,
  model: Model,
  place: Place,
  tag: "subProcess" | "transaction" | "adHocSubProcess",
): SubProcessElement {
  const extensions = extensionsOf(model);
  const type = flagIn(model, "triggeredByEvent") ? "eventSubProcess" : tag;
  const adHoc = {
    sequential: textIn(model, "ordering") === "Sequential",
    completion: expressionIn(model, "completionCondition"),
    cancelsRemaining: (model as unknown as Record<string, unknown>).cancelRemainingInstances !== false,
    active: extensions.activeElements,
  };
  return {
    ...activityOf(reading, model, place, extensions),
    type,
    adHoc: type === "adHocSubProcess" ? adHoc : null,
  };
}

function beginsOf(model: Model, type: GatewayElement["type"]): GatewayElement["begins"] {
  if (type !== "eventBasedGateway" || !flagIn(model, "instantiate")) return null;
  return textIn(model, "eventGatewayType") === "Parallel" ? "each" : "first";
}

function gatewayOf(reading: Reading, model: Model, place: Place, type: GatewayElement["type"]): GatewayElement {
  return {
    ...nodeOf(reading, model, place, extensionsOf(model)),
    type,
    default: idIn(model, "default"),
    activation: expressionIn(model, "activationCondition"),
    begins: beginsOf(model, type),
  };
}
