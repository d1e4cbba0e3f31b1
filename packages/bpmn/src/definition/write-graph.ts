import {
  type ActivityElement,
  type Element,
  type EventElement,
  type EventTrigger,
  type Expression,
  type Flow,
  isActivity,
  isEvent,
  isSubProcess,
  type Mapping,
  type ModelForm,
  NODE_TYPE,
  type Process,
  type RetrySetting,
  type TaskElement,
} from "../model/process.ts";
import { modelFieldsOf, RETRY_OF_GRAPH } from "./graph-elements.ts";
import type { Graph, GraphConnection, GraphNode } from "./read-graph.ts";

type Data = Readonly<Record<string, unknown>>;

/** Writes a process as a graph. Reading the graph gives the same process, except that properties are text. */
export function writeGraph(process: Process): Graph {
  const elements = inOrder(process);
  const flows = elements.flatMap(({ outgoing }) => outgoing.flatMap((id) => process.flows.get(id) ?? []));
  const data = process.scopes.get(process.id)?.data ?? [];
  return {
    id: process.id,
    ...(process.name !== null && { name: process.name }),
    ...(process.versionTag !== null && { versionTag: process.versionTag }),
    ...(data.length > 0 && { variables: data }),
    nodes: elements.map((element) => nodeOf(process, element)),
    connections: flows.map((flow) => connectionOf(process, flow)),
  };
}

/** The elements of the process, then those of its sub-processes, level by level. */
export function inOrder({ id, scopes, elements }: Process): readonly Element[] {
  const found: Element[] = [];
  const waiting = [id];
  for (let at = 0; at < waiting.length; at += 1) {
    for (const each of scopes.get(waiting[at] ?? "")?.elements ?? []) {
      const element = elements.get(each);
      if (element === undefined) continue;
      found.push(element);
      if (isSubProcess(element)) waiting.push(element.id);
    }
  }
  return found;
}

function connectionOf({ elements }: Process, { id, source, target, name, condition }: Flow): GraphConnection {
  const from = elements.get(source);
  return {
    id,
    source,
    target,
    ...(name !== null && { label: name }),
    ...(condition !== null && { condition: conditionText(condition) }),
    ...(from !== undefined && "default" in from && from.default === id && { isDefault: true }),
  };
}

function conditionText(condition: Expression): NonNullable<GraphConnection["condition"]> {
  const { text, language } = condition;
  return language === null ? markedUnlessPlain(text) : { text: markedUnlessPlain(text), language };
}

/** The text of an expression that is always evaluated. */
function markedUnlessPlain(text: string): string {
  return text.startsWith("=") ? `=${text}` : text;
}

function nodeOf(process: Process, element: Element): GraphNode {
  const { id, scope, name, properties } = element;
  const { [NODE_TYPE]: nodeType, ...plain } = properties;
  const isOwn = nodeType !== undefined && element.type === "serviceTask" && element.handler === null;
  const own = ownDataOf(process, element);
  const data = {
    ...(name !== null && { label: name }),
    ...own,
    ...listenerFields(element),
    ...propertyFields(element, isOwn ? plain : properties, own.resultVariable),
  };
  return {
    id,
    type: isOwn ? nodeType : element.type,
    ...(scope !== process.id && { parent: scope }),
    ...(Object.keys(data).length > 0 && { data }),
  };
}

function listenerFields({ listeners = [] }: Element): Data {
  if (listeners.length === 0) return {};
  return {
    listeners: listeners.map(({ event, handler, retry }) => ({
      event,
      handler,
      ...(retry !== null && { retries: retry.maxAttempts }),
    })),
  };
}

function formField({ form }: { readonly form?: ModelForm }): Data {
  if (form === undefined) return {};
  const { schema, defaults } = form;
  return {
    form: {
      schema: parsedIfJson(schema),
      ...(defaults.length > 0 && { defaults: mappingFields(defaults, markedText) }),
    },
  };
}

function ownDataOf(process: Process, element: Element): Data {
  if (isEvent(element)) return eventData(element);
  if (!isActivity(element)) {
    return {
      ...(element.activation !== null && { activation: computedText(element.activation) }),
      ...(element.instantiates !== null && { instantiate: element.instantiates }),
    };
  }
  const activity = activityData(element);
  if (element.type === "callActivity") {
    const { called, version, waits, passes = "all", returns } = element;
    return {
      ...activity,
      calledElement: markedText(called),
      ...(version !== null && { version }),
      ...(element.binding !== undefined && { binding: element.binding }),
      ...(!waits && { waits }),
      ...(passes !== "all" && { passes }),
      ...(returns !== undefined && { returns }),
    };
  }
  if (!isSubProcess(element)) return { ...activity, ...taskData(element) };
  const variables = process.scopes.get(element.id)?.data ?? [];
  const { adHoc } = element;
  return {
    ...activity,
    ...(variables.length > 0 && { variables }),
    ...(adHoc !== null && {
      ...(adHoc.sequential && { sequential: true }),
      ...(adHoc.completion !== null && { completion: computedText(adHoc.completion) }),
      ...(!adHoc.cancelsRemaining && { cancelsRemaining: false }),
      ...(adHoc.active !== null && { active: computedText(adHoc.active) }),
    }),
  };
}

function eventData(event: EventElement): Data {
  const { triggers, isParallel, isInterrupting, attachedTo, outputs, handler } = event;
  const fields = triggers.map(triggerField);
  return {
    ...(attachedTo !== null && { attachedTo }),
    ...(fields.length === 1 ? fields[0] : {}),
    ...(fields.length > 1 && { triggers: fields }),
    ...(isParallel && { parallel: true }),
    ...(!isInterrupting && { interrupting: false }),
    ...(outputs.length > 0 && { outputs: mappingFields(outputs, markedText) }),
    ...(handler !== null && { handler }),
    ...formField(event),
  };
}

function triggerField(trigger: EventTrigger): Data {
  switch (trigger.kind) {
    case "message":
      return { message: messageField(trigger) };
    case "signal":
      return { signal: markedText(trigger.name) };
    case "timer":
      return { timer: { [trigger.timer]: markedText(trigger.value) } };
    case "error":
    case "escalation":
      return { [trigger.kind]: codeField(trigger) };
    case "conditional":
      return { condition: computedText(trigger.condition) };
    case "link":
      return { link: trigger.name };
    case "compensation": {
      const { activity, waits } = trigger;
      return { compensation: waits ? (activity ?? true) : { ...(activity !== null && { activity }), waits } };
    }
    case "cancel":
    case "terminate":
      return { [trigger.kind]: true };
  }
}

/** A code, or an object if there is more than a code. Null codes are `true`. */
function codeField(trigger: Extract<EventTrigger, { kind: "error" | "escalation" }>): unknown {
  const { code, codeVariable } = trigger;
  const ofError = trigger.kind === "error" ? trigger : null;
  const more = {
    ...(codeVariable !== undefined && { codeVariable }),
    ...(ofError?.messageVariable !== undefined && { messageVariable: ofError.messageVariable }),
    ...(ofError?.message !== undefined && { message: markedText(ofError.message) }),
    ...(ofError?.failures === true && { failures: true }),
  };
  if (Object.keys(more).length === 0) return code ?? true;
  return { ...(code !== null && { code }), ...more };
}

function messageField({ name, key }: { readonly name: string; readonly key: Expression | null }): unknown {
  return key === null ? name : { name, key: markedText(key) };
}

function activityData(element: ActivityElement): Data {
  const { loop, compensatedBy, isForCompensation, inputs, outputs, dataOutputs } = element;
  const { startQuantity, completionQuantity } = element;
  return {
    ...(inputs.length > 0 && { inputs: mappingFields(inputs, markedText) }),
    ...(outputs.length > 0 && { outputs: mappingFields(outputs, markedText) }),
    ...(dataOutputs.length > 0 && { dataOutputs: mappingFields(dataOutputs, computedText) }),
    ...(loop?.kind === "standard" && { loop: loopField(loop) }),
    ...(loop?.kind === "multi" && { multiInstance: multiField(loop) }),
    ...(compensatedBy !== null && { compensatedBy }),
    ...(isForCompensation && { isForCompensation }),
    ...(startQuantity !== 1 && { startQuantity }),
    ...(completionQuantity !== 1 && { completionQuantity }),
  };
}

function loopField(loop: Extract<ActivityElement["loop"], { kind: "standard" }>): Data {
  const { testBefore, condition, maximum } = loop;
  return {
    ...(testBefore && { testBefore }),
    ...(condition !== null && { condition: computedText(condition) }),
    ...(maximum !== null && { maximum }),
  };
}

function multiField(loop: Extract<ActivityElement["loop"], { kind: "multi" }>): Data {
  const { sequential, cardinality, collection, item, output, completion, throws } = loop;
  return {
    ...(sequential && { sequential }),
    ...(cardinality !== null && { cardinality: computedText(cardinality) }),
    ...(collection !== null && { collection: computedText(collection) }),
    ...(item !== null && { item }),
    ...(output !== null && { output: { variable: output.variable, element: computedText(output.element) } }),
    ...(completion !== null && { completion: computedText(completion) }),
    ...(throws.length > 0 && {
      throws: throws.map(({ when, trigger }) => ({
        when: typeof when === "string" ? when : computedText(when),
        ...(trigger !== null && triggerField(trigger)),
      })),
    }),
  };
}

function taskData(element: TaskElement): Data {
  const { handler, script, decision, resultVariable, message, instantiates, retry } = element;
  return {
    ...(handler !== null && { handler }),
    ...(script !== null && { script: script.text }),
    ...(script !== null && script.format !== "javascript" && { scriptFormat: script.format }),
    ...(decision !== null && { ruleId: decision }),
    ...(element.binding !== undefined && { binding: element.binding }),
    ...(resultVariable !== null && { resultVariable }),
    ...(message !== null && { message: messageField(message) }),
    ...(instantiates && { instantiate: true }),
    ...(retry !== null && { retry: retryField(retry) }),
    ...formField(element),
  };
}

function retryField({ maxAttempts, backoff, ...delays }: RetrySetting): Data {
  const changed = Object.entries(delays).filter(
    ([name, value]) => value !== RETRY_OF_GRAPH[name as keyof typeof delays],
  );
  return {
    max: maxAttempts - 1,
    ...(backoff !== RETRY_OF_GRAPH.backoff && { backoff }),
    ...Object.fromEntries(changed),
  };
}

type TextOf = (expression: Expression) => unknown;

/** An object from variable to expression, unless its order or a repeated variable would be lost. */
function mappingFields(mappings: readonly Mapping[], textOf: TextOf): unknown {
  const targets = new Set(mappings.map(({ target }) => target));
  const isPlain = targets.size === mappings.length && ![...targets].some((each) => /^\d+$|^__proto__$/.test(each));
  if (!isPlain) return mappings.map(({ source, target }) => ({ source: textOf(source), target }));
  return Object.fromEntries(mappings.map(({ source, target }) => [target, textOf(source)]));
}

/** An expression that is always evaluated. */
function computedText({ text, language }: Expression): unknown {
  return language === null ? markedUnlessPlain(text) : { text: markedUnlessPlain(text), language };
}

/** An expression that is text unless it is marked. */
function markedText({ text, language, isStatic }: Expression): unknown {
  const marked = isStatic ? text : markComputed(text);
  return language === null ? marked : { text: marked, language };
}

/** Marks a text as an expression: with `=`, unless it is a single expression in braces. */
export function markComputed(text: string): string {
  return /^[$#]\{[^{}]*\}$/.test(text) ? text : `=${text}`;
}

/** Extension attributes and elements of BPMN documents that are fields of the data. */
const OF_MODEL =
  /^(?:handler|topic|class|delegateExpression|decisionRef|(?:decisionRef|formRef|calledElement)(?:Binding|Version|VersionTag)|resultVariable|retries|correlationKey|catchFailures|waitForCompletion|form\.schema|formDefinition\.(?:bindingType|versionTag)|(?:taskDefinition|executionListener|taskListener|retry|in|out|calledElement|calledDecision|script|adHoc|subscription)\..*)$/;

/** The properties of an element that no field of the model contains. */
export function plainProperties({ properties }: Element): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(properties).filter(([name, value]) => !OF_MODEL.test(name) && value !== ""));
}

function propertyFields(element: Element, properties: Readonly<Record<string, string>>, resultVariable: unknown): Data {
  const taken = modelFieldsOf(element.type);
  const request = requestField(element, properties, resultVariable);
  const own = Object.entries(plainProperties({ ...element, properties })).filter(
    ([name]) => request === null || !isOfRequest(name),
  );
  const isOther = (name: string): boolean => taken.has(name) || name === "__proto__";
  const values = own.map(([name, value]) => [name, parsedIfJson(value)] as const);
  const others = values.filter(([name]) => isOther(name));
  return {
    ...(request !== null && { serviceConfig: request }),
    ...Object.fromEntries(values.filter(([name]) => !isOther(name))),
    ...(others.length > 0 && { properties: Object.fromEntries(others) }),
  };
}

function isOfRequest(name: string): boolean {
  return /^(?:url|method|body|bodyJson|responseVariable|header\..+)$/.test(name);
}

/** The request of an HTTP task. Null if the properties cannot be written as one. */
function requestField(
  element: Element,
  { url, method, body, bodyJson, responseVariable, ...rest }: Readonly<Record<string, string>>,
  resultVariable: unknown,
): Data | null {
  const headers = Object.entries(rest).filter(([name]) => name.startsWith("header."));
  const given = bodyJson === undefined ? body : parsedIfJson(bodyJson);
  const isRead = bodyJson === undefined || (body === undefined && typeof given !== "string");
  const isSame = responseVariable === undefined || responseVariable === resultVariable;
  if (!("script" in element) || url === undefined || !isRead || !isSame) return null;
  return {
    ...(method !== undefined && { method }),
    url,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map(([name, value]) => [name.slice("header.".length), parsedIfJson(value)])),
    }),
    ...(given !== undefined && { requestBody: given }),
    ...(responseVariable !== undefined && { responseVariable }),
  };
}

/** An object or a list whose JSON is the text, otherwise the text. */
function parsedIfJson(text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? value : text;
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
