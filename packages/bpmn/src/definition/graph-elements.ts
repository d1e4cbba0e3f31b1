import { bindingOf } from "../model/pins.ts";
import {
  type ActivityElement,
  type CallElement,
  type Element,
  type EventElement,
  type GatewayElement,
  type Listener,
  type ModelForm,
  type MultiInstance,
  type RetrySetting,
  type StandardLoop,
  type SubProcessElement,
  type TaskElement,
  type TaskType,
  textOrComputed,
} from "../model/process.ts";
import { RETRY_DEFAULT } from "./extensions.ts";
import { type Data, type GraphData, isData } from "./graph-data.ts";
import { messageIn, TRIGGER_FIELDS, throwsIn, triggersIn } from "./graph-triggers.ts";

const TASKS: Readonly<Record<string, TaskType>> = {
  task: "task",
  manualTask: "manualTask",
  userTask: "userTask",
  serviceTask: "serviceTask",
  scriptTask: "scriptTask",
  businessRule: "businessRuleTask",
  businessRuleTask: "businessRuleTask",
  sendTask: "sendTask",
  receiveTask: "receiveTask",
};

const GATEWAYS: Readonly<Record<string, GatewayElement["type"]>> = {
  exclusiveGateway: "exclusiveGateway",
  parallelGateway: "parallelGateway",
  inclusiveGateway: "inclusiveGateway",
  complexGateway: "complexGateway",
  eventBasedGateway: "eventBasedGateway",
};

const EVENTS: Readonly<Record<string, EventElement["type"]>> = {
  startProcess: "startEvent",
  startEvent: "startEvent",
  endProcess: "endEvent",
  endEvent: "endEvent",
  intermediateCatchEvent: "intermediateCatchEvent",
  intermediateThrowEvent: "intermediateThrowEvent",
  boundaryEvent: "boundaryEvent",
};

const SUB_PROCESSES: Readonly<Record<string, SubProcessElement["type"]>> = {
  subProcess: "subProcess",
  eventSubProcess: "eventSubProcess",
  transaction: "transaction",
  adHocSubProcess: "adHocSubProcess",
};

const CALLS: Readonly<Record<string, "callActivity">> = { callActivity: "callActivity" };

/** Every type of node, without those that an application adds. */
export const NODE_TYPES: readonly string[] = [EVENTS, TASKS, GATEWAYS, SUB_PROCESSES, CALLS].flatMap(Object.keys);

export function isSubProcessType(type: string): boolean {
  return Object.hasOwn(SUB_PROCESSES, type);
}

const OF_ALL = ["label", "properties", "listeners"];
const OF_EVENTS = [
  ...TRIGGER_FIELDS,
  "triggers",
  "parallel",
  "interrupting",
  "attachedTo",
  "outputs",
  "handler",
  "form",
];
const OF_GATEWAYS = ["instantiate", "activation"];
const OF_ACTIVITIES = [
  ...["inputs", "outputs", "dataOutputs", "multiInstance", "loop", "startQuantity", "completionQuantity"],
  ...["errorBoundary", "compensatedBy", "isForCompensation"],
];
const OF_TASKS = ["handler", "ruleId", "resultVariable", "serviceConfig", "retry"];
const OF_ONE_TYPE: ReadonlyMap<string, readonly string[]> = new Map([
  ["scriptTask", ["script", "scriptFormat"]],
  ["userTask", ["form", "binding"]],
  ["businessRuleTask", ["binding"]],
  ["businessRule", ["binding"]],
  ["sendTask", ["message"]],
  ["receiveTask", ["message", "instantiate"]],
]);
const OF_CALLS = ["calledElement", "version", "binding", "waits", "passes", "returns"];
const OF_SUB_PROCESSES = ["variables", "sequential", "completion", "cancelsRemaining", "active"];

/** The fields of the data that are part of the model. Other fields are properties, for handlers and forms. */
export function modelFieldsOf(type: string): ReadonlySet<string> {
  return new Set([...OF_ALL, ...ownFieldsOf(type)]);
}

function ownFieldsOf(type: string): readonly string[] {
  if (Object.hasOwn(EVENTS, type)) return OF_EVENTS;
  if (Object.hasOwn(GATEWAYS, type)) return OF_GATEWAYS;
  if (Object.hasOwn(CALLS, type)) return [...OF_ACTIVITIES, ...OF_CALLS];
  if (isSubProcessType(type)) return [...OF_ACTIVITIES, ...OF_SUB_PROCESSES];
  return [...OF_ACTIVITIES, ...OF_TASKS, ...(OF_ONE_TYPE.get(type) ?? [])];
}

/** The connections of a node to others. */
export interface GraphPlace {
  readonly id: string;
  readonly scope: string;
  readonly incoming: readonly string[];
  readonly outgoing: readonly string[];
  readonly default: string | null;
  /** Its boundary events, without compensation events. */
  readonly boundaries: readonly string[];
  /** Whether another node is compensated by it. */
  readonly compensates: boolean;
}

/** Reads one node. Null if its type is unknown. */
export function elementOf(place: GraphPlace, type: string, raw: Data, data: GraphData): Element | null {
  const { id, scope, incoming, outgoing } = place;
  const node = {
    id,
    name: data.text("label"),
    scope,
    incoming,
    outgoing,
    line: null,
    properties: propertiesOf(type, raw, data),
    ...listenersOf(type, data),
  };
  const event = ofTable(EVENTS, type);
  if (event !== undefined) return { ...node, ...eventOf(event, data) };
  const gateway = ofTable(GATEWAYS, type);
  if (gateway !== undefined) {
    const instantiates = gateway === "eventBasedGateway" ? data.choice("instantiate", ["first", "each"]) : null;
    const activation = gateway === "complexGateway" ? data.expression("activation", "computed") : null;
    return { ...node, type: gateway, default: place.default, activation, instantiates };
  }
  const activity = { ...node, ...activityOf(place, data) };
  const task = ofTable(TASKS, type);
  if (task !== undefined) return { ...activity, ...taskOf(task, raw, data) };
  const subProcess = ofTable(SUB_PROCESSES, type);
  if (subProcess !== undefined) return { ...activity, ...subProcessOf(subProcess, data) };
  return ofTable(CALLS, type) === undefined ? null : { ...activity, ...callOf(data) };
}

/** A type may have the name of a property that every object has. */
function ofTable<Value>(table: Readonly<Record<string, Value>>, type: string): Value | undefined {
  return Object.hasOwn(table, type) ? table[type] : undefined;
}

type NodeKeys = "id" | "name" | "scope" | "incoming" | "outgoing" | "line" | "properties";

function eventOf(type: EventElement["type"], data: GraphData): Omit<EventElement, NodeKeys> {
  const hasHost = type === "boundaryEvent";
  const mayContinue = hasHost || type === "startEvent";
  const attachedTo = hasHost ? data.text("attachedTo") : null;
  return {
    type,
    triggers: triggersIn(data),
    isParallel: data.flag("parallel", false),
    isInterrupting: mayContinue ? data.flag("interrupting", true) : true,
    attachedTo,
    outputs: data.mappings("outputs", "marked"),
    handler: data.text("handler"),
    ...(type === "startEvent" && formOf(data)),
  };
}

/** The form of a user task or a start event: a JSON schema, and default values that are computed. */
function formOf(data: GraphData): { readonly form?: ModelForm } {
  const form = data.object("form", ["schema", "defaults"]);
  if (form === null) return {};
  const schema = form.value("schema");
  if (!isData(schema)) form.report("schema", "must be a JSON schema");
  return { form: { schema: JSON.stringify(schema ?? {}), defaults: form.mappings("defaults", "marked") } };
}

function listenersOf(type: string, data: GraphData): { readonly listeners?: readonly Listener[] } {
  const listeners = data.objects("listeners", ["event", "handler", "retries"]).flatMap((each): readonly Listener[] => {
    const event = each.choice("event", type === "userTask" ? LISTENED_TASK : LISTENED);
    const handler = each.text("handler");
    const retries = each.count("retries", 1);
    if (event === null || handler === null) each.report("event", "and handler must be named");
    if (event === null || handler === null) return [];
    const phase = event === "start" || event === "create" || leavesUnseen(type, data) ? "before" : "after";
    if (event === "end" && type === "eventBasedGateway")
      each.report("event", "cannot be end at an event-based gateway");
    return [{ event, phase, handler, retry: retries === null ? null : { ...RETRY_DEFAULT, maxAttempts: retries } }];
  });
  if (listeners.length === 0) return {};
  return { listeners: listeners.sort((a, b) => LISTENED_TASK.indexOf(a.event) - LISTENED_TASK.indexOf(b.event)) };
}

const LISTENED = ["start", "end"] as const;
const LISTENED_TASK = ["start", "create", "complete", "end"] as const;

/** Whether nothing comes after the element: a gateway, or an event that ends its token. */
function leavesUnseen(type: string, data: GraphData): boolean {
  if (Object.hasOwn(GATEWAYS, type)) return true;
  const isThrowing = EVENTS[type] === "endEvent" || EVENTS[type] === "intermediateThrowEvent";
  return isThrowing && triggersIn(data).some(({ kind }) => /^(?:error|terminate|cancel|link)$/.test(kind));
}

function activityOf(place: GraphPlace, data: GraphData): Omit<ActivityElement, NodeKeys | "type"> {
  return {
    default: place.default,
    loop: loopOf(data),
    boundaries: place.boundaries,
    compensatedBy: data.text("compensatedBy"),
    isForCompensation: place.compensates || data.flag("isForCompensation", false),
    startQuantity: data.count("startQuantity", 1) ?? 1,
    completionQuantity: data.count("completionQuantity", 1) ?? 1,
    inputs: data.mappings("inputs", "marked"),
    outputs: data.mappings("outputs", "marked"),
    dataOutputs: data.mappings("dataOutputs", "computed"),
  };
}

function loopOf(data: GraphData): MultiInstance | StandardLoop | null {
  const many = data.object("multiInstance", [
    ...["sequential", "cardinality", "collection", "item", "output", "completion", "throws"],
  ]);
  const loop = data.object("loop", ["testBefore", "condition", "maximum"]);
  if (many !== null && loop !== null) data.report("loop", "cannot be combined with multiInstance; remove one of them");
  if (many !== null) return multiOf(data, many);
  if (loop === null) return null;
  return {
    kind: "standard",
    testBefore: loop.flag("testBefore", false),
    condition: loop.expression("condition", "computed"),
    maximum: loop.count("maximum", 1),
  };
}

function multiOf(data: GraphData, many: GraphData): MultiInstance {
  const cardinality = many.expression("cardinality", "computed");
  const collection = many.expression("collection", "computed");
  if (cardinality === null && collection === null)
    data.report("multiInstance", "has no number of instances; add a cardinality or a collection");
  const output = many.object("output", ["variable", "element"]);
  const variable = output?.text("variable") ?? null;
  const element = output?.expression("element", "computed") ?? null;
  if (output !== null && (variable === null || element === null))
    data.report("multiInstance.output", "must have a variable and an element");
  const throws = throwsIn(many);
  const kinds = new Set(throws.map(({ when }) => (typeof when === "string" ? when : "condition")));
  const isOne = kinds.has("condition") || throws.length <= 1;
  if (kinds.size > 1 || !isOne)
    data.report("multiInstance.throws", "must contain one event for each or first, or only events with conditions");
  return {
    kind: "multi",
    sequential: many.flag("sequential", false),
    cardinality,
    collection,
    item: many.text("item"),
    output: variable === null || element === null ? null : { variable, element },
    completion: many.expression("completion", "computed"),
    throws,
  };
}

function taskOf(type: TaskType, raw: Data, data: GraphData): Omit<TaskElement, Exclude<keyof ActivityElement, "type">> {
  const isScript = type === "scriptTask";
  const script = isScript && isData(raw.script) ? data.object("script", ["code", "resultVariable", "timeout"]) : null;
  const code = script === null ? (isScript ? data.text("script") : null) : script.text("code");
  const isMessage = type === "sendTask" || type === "receiveTask";
  const service = isData(raw.serviceConfig) ? raw.serviceConfig.responseVariable : undefined;
  const ofService = typeof service === "string" && service !== "" ? service : null;
  const format = raw.scriptFormat === null ? null : (data.text("scriptFormat") ?? "javascript");
  const message = isMessage ? messageIn(data) : null;
  if (isMessage && message === null && !data.has("message")) data.report("message", "is missing; name the message");
  return {
    type,
    handler: data.text("handler"),
    script: code === null ? null : { text: code, format },
    decision: data.text("ruleId"),
    resultVariable: data.text("resultVariable") ?? script?.text("resultVariable") ?? ofService,
    message,
    instantiates: type === "receiveTask" && data.flag("instantiate", false),
    retry: retryOf(data),
    ...(type === "userTask" && formOf(data)),
    ...((type === "userTask" || type === "businessRuleTask") &&
      bindingIn(data, ["latest", "deployment", "versionTag", "version"])),
  };
}

function callOf(data: GraphData): Omit<CallElement, Exclude<keyof ActivityElement, "type">> {
  const returns = data.choice("returns", ["all", "outputs"]);
  return {
    type: "callActivity",
    called: data.expression("calledElement", "marked") ?? textOrComputed(""),
    version: data.count("version", 1),
    ...bindingIn(data, ["latest", "deployment", "versionTag"]),
    waits: data.flag("waits", true),
    passes: data.choice("passes", ["all", "inputs"]) ?? "all",
    ...(returns !== null && { returns }),
  };
}

/** Reads `binding: { kind, tag, version }`: the version of a process, a decision or a form. */
function bindingIn(data: GraphData, kinds: readonly string[]): Pick<TaskElement, "binding"> {
  const given = data.object("binding", ["kind", "tag", "version"]);
  const kind = given?.choice("kind", kinds) ?? null;
  if (given === null || kind === "latest") return {};
  const version = given.count("version", 1);
  const tag = given.text("tag");
  const binding = bindingOf(kind, tag, version === null ? null : String(version));
  if (binding !== null && (binding.kind !== "versionTag" || tag !== null)) return { binding };
  data.report("binding", "must have a kind, with the tag of a versionTag or the number of a version");
  return {};
}

function subProcessOf(
  type: SubProcessElement["type"],
  data: GraphData,
): Omit<SubProcessElement, Exclude<keyof ActivityElement, "type">> {
  if (type !== "adHocSubProcess") return { type, adHoc: null };
  return {
    type,
    adHoc: {
      sequential: data.flag("sequential", false),
      completion: data.expression("completion", "computed"),
      cancelsRemaining: data.flag("cancelsRemaining", true),
      active: data.expression("active", "computed"),
    },
  };
}

/** The greatest delay between attempts of a graph's node, unless it sets one. */
export const RETRY_OF_GRAPH: RetrySetting = { ...RETRY_DEFAULT, maxMs: 30_000 };

/** Reads `retry: { max, backoff, initialMs, maxMs, jitter }`: the number of retries, and how the delay grows. */
function retryOf(data: GraphData): RetrySetting | null {
  const retry = data.object("retry", ["max", "backoff", "initialMs", "maxMs", "jitter"]);
  const max = retry?.count("max", 0) ?? null;
  if (retry === null) return null;
  if (max === null) data.report("retry", "has no max; add the number of retries");
  const { backoff, initialMs, maxMs, jitter } = RETRY_OF_GRAPH;
  return {
    maxAttempts: (max ?? 0) + 1,
    backoff: retry.choice("backoff", ["exponential", "linear", "fixed"]) ?? backoff,
    initialMs: retry.count("initialMs", 0) ?? initialMs,
    maxMs: retry.count("maxMs", 0) ?? maxMs,
    jitter: retry.number("jitter", 0) ?? jitter,
  };
}

/**
 * The properties of a node: text unchanged, other values as JSON. A `serviceConfig` becomes the request properties of HTTP
 * tasks. Empty texts are omitted, as in BPMN documents.
 */
function propertiesOf(type: string, raw: Data, data: GraphData): Readonly<Record<string, string>> {
  const fields = modelFieldsOf(type);
  const own = Object.entries(raw).filter(([name]) => !fields.has(name));
  const named = isData(raw.properties) ? Object.entries(raw.properties) : [];
  if (data.has("properties") && !isData(raw.properties)) data.report("properties", "must be an object");
  const ofScript =
    type === "scriptTask" && isData(raw.script) && raw.script.timeout !== undefined
      ? [["timeout", raw.script.timeout]]
      : [];
  const all = [...ofScript, ...requestOf(raw.serviceConfig), ...own, ...named] as readonly (readonly [
    string,
    unknown,
  ])[];
  const shown = all.map(([name, value]) => [name, textOfValue(value)] as const);
  return Object.fromEntries(shown.filter(([name, value]) => name !== "" && value !== ""));
}

function requestOf(config: unknown): readonly (readonly [string, unknown])[] {
  if (!isData(config)) return [];
  const { url, method, headers, requestBody, body = requestBody, responseVariable, timeout } = config;
  const named = isData(headers)
    ? Object.entries(headers).map(([name, value]) => [`header.${name}`, value] as const)
    : [];
  const fields: Data = {
    ...(typeof url === "string" && { url }),
    ...(typeof method === "string" && { method }),
    ...(body !== undefined && (typeof body === "string" ? { body } : { bodyJson: body })),
    ...(timeout !== undefined && { timeout }),
    ...(typeof responseVariable === "string" && { responseVariable }),
  };
  return [...named, ...Object.entries(fields)];
}

function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
