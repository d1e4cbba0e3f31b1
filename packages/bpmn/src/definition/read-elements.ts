import {
  type CallElement,
  computed,
  type Element,
  type EventElement,
  type EventTrigger,
  type Expression,
  type GatewayElement,
  type InstanceThrow,
  isActivity,
  isEvent,
  type Mapping,
  type MultiInstance,
  type StandardLoop,
  type SubProcessElement,
  type TaskElement,
  type TaskType,
  textOrComputed,
} from "../model/process.ts";
import { expressionIn, valueIn } from "./expression-text.ts";
import { type Extensions, extensionsOf, foreignAttribute, loopExtensions } from "./extensions.ts";
import { countIn, flagIn, idIn, type Model, modelIn, modelsIn, tagOf, textIn } from "./moddle.ts";
import { modelFormOf } from "./model-form.ts";
import { performersOf } from "./performers.ts";
import type { IgnoredExtension, Problems } from "./problem.ts";
import { listenersOf } from "./read-listeners.ts";

/** Shared by the readers of one document. */
export interface ReadContext {
  readonly problems: Problems;
  /** The line number of an element. */
  lineOf(id: string | null): number | null;
  /** Resolves a qualified name to an id. */
  idOf(name: string): string;
  /** Scripts of global tasks, which bpmn-moddle does not read. */
  readonly globalScripts: ReadonlyMap<string, string>;
  readonly globalTasks: ReadonlyMap<string, Model>;
  /** Message names of message flows, by the ids of the elements they connect. */
  readonly messageNames: ReadonlyMap<string, string>;
  /** Forms in the document, by id. */
  readonly forms: ReadonlyMap<string, string>;
  /** Parts of extensions that are not executed. */
  readonly ignored: IgnoredExtension[];
}

/** The connections of an element to others. */
interface Connections {
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

const CATCHING: ReadonlySet<string> = new Set(["startEvent", "intermediateCatchEvent", "boundaryEvent"]);

/** Reads one flow node. Null, with a problem, if its type is not supported. */
export function elementOf(context: ReadContext, model: Model, connections: Connections): Element | null {
  const tag = tagOf(model);
  if (TASKS.has(tag)) return taskOf(context, model, connections, tag as TaskType);
  switch (tag) {
    case "startEvent":
    case "intermediateCatchEvent":
    case "intermediateThrowEvent":
    case "endEvent":
    case "boundaryEvent":
      return eventOf(context, model, connections, tag);
    case "callActivity":
      return callOf(context, model, connections);
    case "subProcess":
    case "transaction":
    case "adHocSubProcess":
      return subProcessOf(context, model, connections, tag);
    case "exclusiveGateway":
    case "parallelGateway":
    case "inclusiveGateway":
    case "complexGateway":
    case "eventBasedGateway":
      return gatewayOf(context, model, connections, tag);
    default:
      context.problems.add(model.id ?? null, context.lineOf(model.id ?? null), `a ${tag} is not supported; replace it`);
      return null;
  }
}

function nodeOf(
  context: ReadContext,
  model: Model,
  { scope, incoming, outgoing }: Connections,
  { properties, ignored: parts, problems }: Extensions,
) {
  const id = model.id ?? "";
  const line = context.lineOf(id);
  const { listeners, ignored } = listenersOf(model);
  for (const text of problems) addProblem(context, model, text);
  for (const extension of [...parts, ...ignored]) context.ignored.push({ element: id, extension, line });
  const node = { id, name: textIn(model, "name"), scope, incoming, outgoing, line, properties };
  return listeners.length === 0 ? node : { ...node, listeners };
}

function activityOf(context: ReadContext, model: Model, connections: Connections, extensions: Extensions) {
  return {
    ...nodeOf(context, model, connections, extensions),
    default: idIn(model, "default"),
    loop: loopOf(context, model),
    boundaries: connections.boundaries,
    compensatedBy: connections.compensatedBy,
    isForCompensation: flagIn(model, "isForCompensation"),
    startQuantity: countIn(model, "startQuantity", 1),
    completionQuantity: countIn(model, "completionQuantity", 1),
    inputs: [...dataInputs(model), ...extensions.inputs],
    outputs: [...extensions.outputs],
    dataOutputs: dataOutputs(model),
  };
}

function eventOf(
  context: ReadContext,
  model: Model,
  connections: Connections,
  type: EventElement["type"],
): EventElement {
  const extensions = thrownExtensions(model);
  const name = type === "boundaryEvent" ? "cancelActivity" : "isInterrupting";
  return {
    ...nodeOf(context, model, connections, extensions),
    type,
    triggers: triggersOf(context, model),
    isParallel: flagIn(model, "parallelMultiple"),
    isInterrupting: (model as unknown as Record<string, unknown>)[name] !== false,
    attachedTo: idIn(model, "attachedToRef"),
    outputs: extensions.outputs,
    handler: extensions.handler,
    ...(type === "startEvent" && formIn(context, model)),
  };
}

/** The extensions of an event. The handler or connector that sends a thrown message may be one of the event definition. */
function thrownExtensions(event: Model): Extensions {
  const own = extensionsOf(event);
  const definition = modelsIn(event, "eventDefinitions").find((each) => tagOf(each) === "messageEventDefinition");
  const isThrown = tagOf(event) === "endEvent" || tagOf(event) === "intermediateThrowEvent";
  if (definition === undefined || !isThrown || own.handler !== null) return own;
  const { handler, outputs, properties, problems } = extensionsOf(definition);
  if (handler === null) return own;
  const all = { ...properties, ...own.properties };
  return { ...own, handler, problems, properties: all, outputs: [...outputs, ...own.outputs] };
}

function taskOf(context: ReadContext, model: Model, connections: Connections, type: TaskType): TaskElement {
  const own = extensionsOf(model);
  const extensions = type === "userTask" ? { ...own, properties: { ...performersOf(model), ...own.properties } } : own;
  const isMessage = type === "sendTask" || type === "receiveTask";
  const script = textIn(model, "script");
  return {
    ...activityOf(context, model, connections, extensions),
    type,
    handler: extensions.handler,
    script: script === null ? extensions.script : { text: script, format: textIn(model, "scriptFormat") },
    decision: extensions.decision,
    resultVariable: extensions.resultVariable,
    message: isMessage ? { ...named(messageName(context, model, model)), key: keyOf(model, model) } : null,
    instantiates: flagIn(model, "instantiate"),
    retry: extensions.retry,
    ...(extensions.binding !== null && { binding: extensions.binding }),
    ...(type === "userTask" && formIn(context, model)),
  };
}

/** The form that the model contains. */
function formIn(context: ReadContext, model: Model): Pick<TaskElement, "form"> {
  const read = modelFormOf(model, context.forms);
  if (read === null) return {};
  const element = model.id ?? null;
  for (const text of read.problems) addProblem(context, model, text);
  for (const extension of read.ignored) context.ignored.push({ element, extension, line: context.lineOf(element) });
  return { form: read.form };
}

/** Reads a call activity. A call of a global task becomes that task. */
function callOf(context: ReadContext, model: Model, connections: Connections): CallElement | TaskElement {
  const extensions = extensionsOf(model);
  const called = context.idOf(textIn(model, "calledElement") ?? "");
  const task = context.globalTasks.get(called);
  const activity = activityOf(context, model, connections, extensions);
  if (task === undefined) {
    return {
      ...activity,
      type: "callActivity",
      called: extensions.called ?? textOrComputed(called),
      version: extensions.calledVersion,
      // The number of a version is not a binding of a call.
      ...(extensions.binding !== null && extensions.binding.kind !== "version" && { binding: extensions.binding }),
      waits: extensions.waits,
      passes: extensions.passes,
      ...(extensions.returns !== null && { returns: extensions.returns }),
    };
  }
  const own = extensionsOf(task);
  const text = context.globalScripts.get(called);
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
    ...(own.binding !== null && { binding: own.binding }),
  };
}

function globalType(tag: string): TaskType {
  const name = tag.slice("global".length);
  const type = name.slice(0, 1).toLowerCase() + name.slice(1);
  return TASKS.has(type) ? (type as TaskType) : "task";
}

function subProcessOf(
  context: ReadContext,
  model: Model,
  connections: Connections,
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
    ...activityOf(context, model, connections, extensions),
    type,
    adHoc: type === "adHocSubProcess" ? adHoc : null,
  };
}

function instantiationOf(model: Model, type: GatewayElement["type"]): GatewayElement["instantiates"] {
  if (type !== "eventBasedGateway" || !flagIn(model, "instantiate")) return null;
  return textIn(model, "eventGatewayType") === "Parallel" ? "each" : "first";
}

function gatewayOf(
  context: ReadContext,
  model: Model,
  connections: Connections,
  type: GatewayElement["type"],
): GatewayElement {
  return {
    ...nodeOf(context, model, connections, extensionsOf(model)),
    type,
    default: idIn(model, "default"),
    activation: expressionIn(model, "activationCondition"),
    instantiates: instantiationOf(model, type),
  };
}

/** Reads the loop marker of an activity. */
function loopOf(context: ReadContext, activity: Model): MultiInstance | StandardLoop | null {
  const loop = modelIn(activity, "loopCharacteristics");
  if (loop === null) return null;
  if (loop.$type === "bpmn:StandardLoopCharacteristics") {
    const limit = textIn(loop, "loopMaximum");
    const maximum = Number(limit ?? Number.NaN);
    if (limit !== null && !(Number.isInteger(maximum) && maximum >= 1))
      addProblem(context, activity, `loopMaximum is ${limit}; it must be an integer of at least 1`);
    return {
      kind: "standard",
      testBefore: flagIn(loop, "testBefore"),
      condition: expressionIn(loop, "loopCondition"),
      maximum: Number.isInteger(maximum) ? maximum : null,
    };
  }
  return multiOf(context, activity, loop);
}

function multiOf(context: ReadContext, activity: Model, loop: Model): MultiInstance {
  const extended = loopExtensions(loop);
  const input = modelIn(loop, "loopDataInputRef");
  const output = modelIn(loop, "loopDataOutputRef");
  const item = modelIn(loop, "inputDataItem");
  const result = modelIn(loop, "outputDataItem");
  const cardinality = expressionIn(loop, "loopCardinality");
  const collection = extended?.collection ?? (input === null ? null : associated(activity, input));
  if (cardinality === null && collection === null) {
    context.problems.add(
      activity.id ?? null,
      context.lineOf(activity.id ?? null),
      "the multi-instance activity has no number of instances; add a loopCardinality or a collection",
    );
  }
  return {
    kind: "multi",
    sequential: flagIn(loop, "isSequential"),
    cardinality,
    collection,
    item: extended?.item ?? (item === null ? null : nameOf(item)),
    output:
      extended?.output ??
      (output === null || result === null
        ? null
        : { variable: associated(activity, output).text, element: computed(nameOf(result)) }),
    completion: expressionIn(loop, "completionCondition"),
    throws: throwsOf(context, activity, loop),
  };
}

/** The `behavior` of a multi-instance activity: events that its instances throw. */
function throwsOf(context: ReadContext, activity: Model, loop: Model): readonly InstanceThrow[] {
  const thrown = (definition: Model | null, when: InstanceThrow["when"]): readonly InstanceThrow[] => {
    const trigger = definition === null ? null : triggerOf(context, activity, definition);
    return trigger === null ? [] : [{ when, trigger }];
  };
  switch (textIn(loop, "behavior")) {
    case "None":
      return thrown(modelIn(loop, "noneBehaviorEventRef"), "each");
    case "One":
      return thrown(modelIn(loop, "oneBehaviorEventRef"), "first");
    case "Complex":
      return modelsIn(loop, "complexBehaviorDefinition").flatMap((definition): readonly InstanceThrow[] => {
        const when = expressionIn(definition, "condition") ?? computed("true");
        const event = modelIn(definition, "event");
        const triggers = event === null ? [] : triggersOf(context, event);
        return triggers.length === 0 ? [{ when, trigger: null }] : triggers.map((trigger) => ({ when, trigger }));
      });
    default:
      return [];
  }
}

/** The event definitions of an event, including referenced ones. */
function triggersOf(context: ReadContext, event: Model): readonly EventTrigger[] {
  const definitions = [...modelsIn(event, "eventDefinitions"), ...modelsIn(event, "eventDefinitionRef")];
  return definitions.flatMap((definition) => {
    const trigger = triggerOf(context, event, definition);
    return trigger === null ? [] : [trigger];
  });
}

function triggerOf(context: ReadContext, event: Model, definition: Model): EventTrigger | null {
  switch (tagOf(definition)) {
    case "messageEventDefinition":
      return {
        kind: "message",
        ...named(messageName(context, definition, event)),
        key: keyOf(definition, event),
      };
    case "signalEventDefinition": {
      const signal = modelIn(definition, "signalRef");
      if (signal === null) addProblem(context, event, "the signal event has no signalRef; add one");
      return { kind: "signal", name: textOrComputed(textIn(signal, "name") ?? signal?.id ?? "") };
    }
    case "timerEventDefinition":
      return timerOf(context, event, definition);
    case "errorEventDefinition": {
      const error = modelIn(definition, "errorRef");
      const message = error === null ? null : foreignAttribute(error, "errorMessage");
      return {
        kind: "error",
        ...coded(textIn(error, "errorCode") ?? error?.id ?? null),
        ...variableNames(definition, { codeVariable: "errorCodeVariable", messageVariable: "errorMessageVariable" }),
        ...(message !== null && { message: textOrComputed(message) }),
        ...failuresOf(context, event, definition),
      };
    }
    case "escalationEventDefinition": {
      const escalation = modelIn(definition, "escalationRef");
      const catches = CATCHING.has(tagOf(event));
      const code = textIn(escalation, "escalationCode");
      return {
        kind: "escalation",
        ...coded(catches ? code : (code ?? escalation?.id ?? null)),
        ...variableNames(definition, { codeVariable: "escalationCodeVariable" }),
      };
    }
    case "conditionalEventDefinition": {
      const condition = expressionIn(definition, "condition");
      if (condition === null) addProblem(context, event, "the conditional event has no condition; add one");
      return { kind: "conditional", condition: condition ?? textOrComputed("") };
    }
    case "linkEventDefinition":
      return { kind: "link", name: textIn(definition, "name") ?? "" };
    case "compensateEventDefinition": {
      const waits = (definition as unknown as Record<string, unknown>).waitForCompletion !== false;
      return { kind: "compensation", activity: idIn(definition, "activityRef"), waits };
    }
    case "cancelEventDefinition":
      return { kind: "cancel" };
    case "terminateEventDefinition":
      return { kind: "terminate" };
    default:
      addProblem(context, event, `event definition ${definition.$type} is not supported; use one of the standard`);
      return null;
  }
}

/** The variables that an event definition names for parts of what it catches, by part. */
function variableNames(definition: Model, attributes: Readonly<Record<string, string>>): Record<string, string> {
  const named = Object.entries(attributes).map(([part, name]) => [part, foreignAttribute(definition, name)] as const);
  return Object.fromEntries(named.filter((each): each is readonly [string, string] => (each[1] ?? "") !== ""));
}

/** Reads `catchFailures`, an extension of an error event or of its definition. */
function failuresOf(context: ReadContext, event: Model, definition: Model): { readonly failures?: true } {
  const value = extensionsOf(definition).properties.catchFailures ?? extensionsOf(event).properties.catchFailures;
  if (value === undefined || value === "false") return {};
  if (value !== "true") addProblem(context, event, `catchFailures is "${value}"; it must be true or false`);
  return { failures: true };
}

/** The correlation key is an extension of the message, the event definition, the event or the task. */
function keyOf(holder: Model, element: Model): Expression | null {
  const message = modelIn(holder, "messageRef");
  const ofMessage = message === null ? null : extensionsOf(message).correlationKey;
  return ofMessage ?? extensionsOf(holder).correlationKey ?? extensionsOf(element).correlationKey;
}

function timerOf(context: ReadContext, event: Model, definition: Model): EventTrigger | null {
  for (const [name, timer] of [
    ["timeDate", "date"],
    ["timeDuration", "duration"],
    ["timeCycle", "cycle"],
  ] as const) {
    const value = valueIn(definition, name);
    if (value !== null) return { kind: "timer", timer, value };
  }
  addProblem(context, event, "the timer has no time; add a timeDate, timeDuration or timeCycle");
  return null;
}

function addProblem({ problems, lineOf }: ReadContext, event: Model, text: string): void {
  problems.add(event.id ?? null, lineOf(event.id ?? null), text);
}

/** Data associations map variables to data objects, and back. A data object is the variable with its name. */

function dataInputs(activity: Model): readonly Mapping[] {
  return modelsIn(activity, "dataInputAssociations").flatMap(mappingsOf);
}

function dataOutputs(activity: Model): readonly Mapping[] {
  return modelsIn(activity, "dataOutputAssociations")
    .flatMap(mappingsOf)
    .filter(({ source, target }) => source.text !== target);
}

/** The variable associated with an input or output of an activity. The input or output itself if there is none. */
function associated(activity: Model, datum: Model): Expression {
  const read = modelsIn(activity, "dataInputAssociations").find((each) => modelIn(each, "targetRef") === datum);
  if (read !== undefined) return sourceOf(read) ?? computed(nameOf(datum));
  const written = modelsIn(activity, "dataOutputAssociations").find((each) =>
    modelsIn(each, "sourceRef").includes(datum),
  );
  const target = written === undefined ? null : modelIn(written, "targetRef");
  return computed(target === null ? nameOf(datum) : variableOf(target));
}

/** Skips names with spaces, which cannot be variables. */
function mappingsOf(association: Model): readonly Mapping[] {
  const target = modelIn(association, "targetRef");
  const assignments = modelsIn(association, "assignment").flatMap((assignment) => {
    const source = expressionIn(assignment, "from");
    const to = expressionIn(assignment, "to");
    return source === null || to === null || !isName(to.text) ? [] : [{ source, target: to.text }];
  });
  if (assignments.length > 0) return assignments;
  const source = sourceOf(association);
  if (target === null || source === null || !isName(variableOf(target))) return [];
  return [{ source, target: variableOf(target) }];
}

function sourceOf(association: Model): Expression | null {
  const transformation = expressionIn(association, "transformation");
  const [source] = modelsIn(association, "sourceRef").map(variableOf);
  if (transformation !== null) return transformation;
  return source === undefined || !isName(source) ? null : computed(source);
}

function isName(text: string): boolean {
  return text !== "" && !/\s/.test(text);
}

/** The variable of a data object or data object reference. */
export function variableOf(data: Model): string {
  const object = modelIn(data, "dataObjectRef") ?? modelIn(data, "dataStoreRef") ?? data;
  return textIn(object, "name") ?? object.id ?? "";
}

function nameOf(data: Model): string {
  return textIn(data, "name") ?? data.id ?? "";
}

/** Names of messages, taken from message flows, for events that do not name their message. */
export function messageFlowNames(rootElements: readonly Model[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const collaboration of rootElements.filter(({ $type }) => $type === "bpmn:Collaboration")) {
    for (const flow of modelsIn(collaboration, "messageFlows")) {
      const name = textIn(modelIn(flow, "messageRef"), "name") ?? flow.id ?? "";
      for (const end of ["sourceRef", "targetRef"]) {
        const id = modelIn(flow, end)?.id;
        if (id !== undefined && !names.has(id)) names.set(id, name);
      }
    }
  }
  return names;
}

/** The message name of an event or task. */
function messageName(context: ReadContext, holder: Model, element: Model): string {
  const message = modelIn(holder, "messageRef");
  const operation = modelIn(modelIn(holder, "operationRef"), "inMessageRef");
  const id = element.id ?? "";
  return (
    textIn(message, "name") ??
    message?.id ??
    textIn(operation, "name") ??
    operation?.id ??
    context.messageNames.get(id) ??
    textIn(element, "name") ??
    id
  );
}

/** A name, with its expression if it is computed. */
function named(name: string): { readonly name: string; readonly computed?: Expression } {
  const expression = textOrComputed(name);
  return expression.isStatic ? { name } : { name, computed: expression };
}

/** Like `named`, for the code of an error or escalation. */
function coded(code: string | null): { readonly code: string | null; readonly computed?: Expression } {
  if (code === null) return { code };
  const { name, ...rest } = named(code);
  return { code: name, ...rest };
}

/** The start elements of a scope: start events without a trigger. If it has no start events, elements without incoming flows. */
export function startsOf(elements: readonly Element[]): readonly string[] {
  const events = elements.filter(({ type }) => type === "startEvent");
  const plain = events.filter((event) => isEvent(event) && event.triggers.length === 0);
  if (events.length > 0) return plain.map(({ id }) => id);
  return elements.filter(isImplicitStart).map(({ id }) => id);
}

function isImplicitStart(element: Element): boolean {
  if (element.incoming.length > 0 || element.type === "boundaryEvent" || element.type === "eventSubProcess")
    return false;
  if (element.type === "receiveTask" && element.instantiates) return false;
  if (element.type === "eventBasedGateway" && element.instantiates !== null) return false;
  if (isEvent(element) && element.triggers.some(({ kind }) => kind === "link")) return false;
  return !(isActivity(element) && element.isForCompensation);
}
