import type {
  ActivityElement,
  Element,
  EventElement,
  Flow,
  GatewayElement,
  Process,
  RetrySetting,
  TaskElement,
  TaskType,
} from "../model/process.ts";
import { computed } from "../model/process.ts";
import { checkProcess } from "./check-process.ts";
import { RETRY_DEFAULT } from "./extensions.ts";
import { type InspectedModel, Problems } from "./problem.ts";
import { startsOf } from "./read-elements.ts";

/** A process as a JSON graph of nodes and connections. */
export interface Graph {
  readonly id: string;
  readonly name?: string;
  readonly nodes: readonly GraphNode[];
  readonly connections: readonly GraphConnection[];
}

export interface GraphNode {
  readonly id: string;
  /** `startProcess`, `endProcess`, `userTask`, `serviceTask`, `scriptTask`, `businessRule`, or a gateway type. */
  readonly type: string;
  /** Settings of the node: `label`, `handler`, `script`, `ruleId`, `assignee`, `formId`, `serviceConfig`, `retry` and others. */
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface GraphConnection {
  readonly id?: string;
  readonly source: string;
  readonly target: string;
  /** A FEEL expression. */
  readonly condition?: string;
  /** Taken if no condition is met. */
  readonly isDefault?: boolean;
}

const TASKS: Readonly<Record<string, TaskType>> = {
  userTask: "userTask",
  serviceTask: "serviceTask",
  scriptTask: "scriptTask",
  businessRule: "businessRuleTask",
  businessRuleTask: "businessRuleTask",
};

const GATEWAYS: Readonly<Record<string, GatewayElement["type"]>> = {
  exclusiveGateway: "exclusiveGateway",
  parallelGateway: "parallelGateway",
  inclusiveGateway: "inclusiveGateway",
};

const EVENTS: Readonly<Record<string, EventElement["type"]>> = { startProcess: "startEvent", endProcess: "endEvent" };

/** An id is used in journal locations. */
const ID = /^[\w.:-]{1,200}$/;

/** Reads the process of a graph. Throws one `MODEL_INVALID` error that lists all problems. */
export function readGraph(graph: Graph): Process {
  const { processes, problems } = inspectGraph(graph);
  problems.check("the graph");
  const [process] = processes;
  if (process === undefined) throw new Error("a graph without problems has no process");
  return process;
}

/** Like `readGraph`, but returns the problems. Throws only if the graph has the wrong shape. */
export function inspectGraph(graph: Graph): InspectedModel {
  const problems = new Problems();
  checkShape(graph, problems);
  problems.check("the graph");
  const flows = flowsOf(graph, problems);
  const elements = new Map<string, Element>();
  for (const node of graph.nodes) {
    if (!ID.test(node.id)) problems.add(node.id, null, "an id may contain only letters, digits and . : - _; rename it");
    if (elements.has(node.id)) problems.add(node.id, null, "duplicate id; node ids must be unique");
    const element = elementOf(graph, node, flows);
    if (element === null) problems.add(node.id, null, `unknown node type ${node.type}; use ${known()}`);
    else elements.set(node.id, element);
  }
  const inside = [...elements.keys()];
  const starts = startsOf([...elements.values()]);
  const scope = { id: graph.id, elements: inside, starts, eventSubProcesses: [], data: [] };
  const process: Process = {
    id: graph.id,
    name: graph.name ?? null,
    isExecutable: true,
    versionTag: null,
    elements,
    flows: new Map(flows.map((flow) => [flow.id, flow])),
    scopes: new Map([[graph.id, scope]]),
  };
  checkProcess(process, problems);
  return { processes: [process], problems, warnings: [], ignored: [] };
}

function known(): string {
  return [...Object.keys(EVENTS), ...Object.keys(TASKS), ...Object.keys(GATEWAYS)].join(", ");
}

/** The types of the fields that are read. Other fields may have any type. */
const NODE_FIELDS: Fields = { id: "string", type: "string", data: "object?" };
const CONNECTION_FIELDS: Fields = {
  id: "string?",
  source: "string",
  target: "string",
  condition: "string?",
  isDefault: "boolean?",
};

type Fields = Readonly<Record<string, "string" | "string?" | "boolean?" | "object?">>;

function checkShape(graph: unknown, problems: Problems): void {
  const { id, name, nodes, connections } = (graph ?? {}) as Partial<Record<keyof Graph, unknown>>;
  if (typeof id !== "string" || !ID.test(id)) problems.add(null, null, "the graph has no valid id; add one");
  if (!isOf(name, "string?")) problems.add(null, null, "the name of the graph must be a string");
  checkList("nodes", nodes, NODE_FIELDS, problems);
  checkList("connections", connections, CONNECTION_FIELDS, problems);
}

function checkList(name: string, list: unknown, fields: Fields, problems: Problems): void {
  const isList = Array.isArray(list) && list.every((each) => isOf(each, "object?") && each !== undefined);
  if (!isList) {
    problems.add(null, null, `${name} must be a list of objects`);
    return;
  }
  for (const [index, item] of (list as readonly Data[]).entries()) {
    for (const [field, type] of Object.entries(fields)) {
      if (isOf(item[field], type)) continue;
      const element = typeof item.id === "string" ? item.id : null;
      const kind = type.endsWith("?") ? `, if present, must be of type ${type.slice(0, -1)}` : ` must be a ${type}`;
      problems.add(element, null, `${field} of ${name}[${index}]${kind}`);
    }
  }
}

function isOf(value: unknown, type: Fields[string]): boolean {
  if (value === undefined) return type.endsWith("?");
  switch (type) {
    case "string":
    case "string?":
      return typeof value === "string";
    case "boolean?":
      return typeof value === "boolean";
    case "object?":
      return typeof value === "object" && value !== null && !Array.isArray(value);
  }
}

function flowsOf({ connections }: Graph, problems: Problems): ReadonlyArray<Flow & { readonly isDefault: boolean }> {
  const seen = new Set<string>();
  return connections.map(({ id, source, target, condition, isDefault = false }, i) => {
    const flow = id ?? `connection-${i + 1}`;
    if (seen.has(flow)) problems.add(flow, null, "duplicate id; connection ids must be unique");
    seen.add(flow);
    const expression = condition ? computed(condition) : null;
    return { id: flow, name: null, source, target, condition: expression, line: null, isDefault };
  });
}

function elementOf(
  graph: Graph,
  { id, type, data = {} }: GraphNode,
  flows: ReadonlyArray<Flow & { readonly isDefault: boolean }>,
): Element | null {
  const outgoing = flows.filter(({ source }) => source === id);
  const node = {
    id,
    name: text(data.label) ?? null,
    scope: graph.id,
    incoming: flows.filter(({ target }) => target === id).map((flow) => flow.id),
    outgoing: outgoing.map((flow) => flow.id),
    line: null,
    properties: propertiesOf(data),
  };
  const fallback = outgoing.find(({ isDefault }) => isDefault)?.id ?? null;
  const event = ofTable(EVENTS, type);
  if (event !== undefined) return { ...node, type: event, ...PLAIN_EVENT };
  const gateway = ofTable(GATEWAYS, type);
  if (gateway !== undefined) return { ...node, type: gateway, default: fallback, activation: null, instantiates: null };
  const task = ofTable(TASKS, type);
  return task === undefined ? null : { ...node, ...PLAIN_ACTIVITY, default: fallback, ...taskOf(task, data) };
}

/** A type may have the name of a property that every object has. */
function ofTable<Value>(table: Readonly<Record<string, Value>>, type: string): Value | undefined {
  return Object.hasOwn(table, type) ? table[type] : undefined;
}

const PLAIN_EVENT = {
  triggers: [],
  isParallel: false,
  isInterrupting: true,
  attachedTo: null,
  outputs: [],
  handler: null,
} as const;

const PLAIN_ACTIVITY = {
  loop: null,
  boundaries: [],
  compensatedBy: null,
  isForCompensation: false,
  startQuantity: 1,
  completionQuantity: 1,
  inputs: [],
  outputs: [],
  dataOutputs: [],
} as const;

type OwnOfTask = Omit<TaskElement, Exclude<keyof ActivityElement, "type">>;

function taskOf(type: TaskType, data: Readonly<Record<string, unknown>>): OwnOfTask {
  const script = data.script as { readonly code?: unknown; readonly resultVariable?: unknown } | string | undefined;
  const code = typeof script === "string" ? script : text(script?.code);
  const service = data.serviceConfig as { readonly responseVariable?: unknown } | undefined;
  const ofScript = typeof script === "object" ? text(script.resultVariable) : undefined;
  return {
    type,
    handler: text(data.handler) ?? null,
    script: code === undefined ? null : { text: code, format: text(data.scriptFormat) ?? "javascript" },
    decision: text(data.ruleId) ?? null,
    resultVariable: text(data.resultVariable) ?? ofScript ?? text(service?.responseVariable) ?? null,
    message: null,
    instantiates: false,
    retry: retryOf(data),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

type Data = Readonly<Record<string, unknown>>;

/**
 * The properties of a node: text unchanged, other values as JSON. A `serviceConfig` becomes the request properties of HTTP
 * tasks.
 */
function propertiesOf(data: Data): Readonly<Record<string, string>> {
  const own = Object.entries(data).map(([name, value]) => [name, shown(value)] as const);
  const { timeout } = (typeof data.script === "object" ? (data.script ?? {}) : {}) as Data;
  const ofScript = timeout === undefined ? {} : { timeout: shown(timeout) };
  return { ...Object.fromEntries(own), ...ofScript, ...requestOf(data.serviceConfig) };
}

function requestOf(config: unknown): Readonly<Record<string, string>> {
  if (typeof config !== "object" || config === null) return {};
  const { url, method, headers, requestBody, body = requestBody, responseVariable, timeout } = config as Data;
  const named = Object.entries((headers ?? {}) as Data).map(([name, value]) => [`header.${name}`, shown(value)]);
  return {
    ...Object.fromEntries(named),
    ...(typeof url === "string" && { url }),
    ...(typeof method === "string" && { method }),
    ...(body !== undefined && (typeof body === "string" ? { body } : { bodyJson: JSON.stringify(body) })),
    ...(timeout !== undefined && { timeout: shown(timeout) }),
    ...(typeof responseVariable === "string" && { responseVariable }),
  };
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const WAIT_MAX_MS = 30_000;

/** Reads `retry: { max, backoff }`: the number of retries, and how the delay grows. */
function retryOf(data: Data): RetrySetting | null {
  const { max, backoff } = (data.retry ?? {}) as Data;
  if (typeof max !== "number" || !Number.isInteger(max) || max < 0) return null;
  const kind = backoff === "linear" || backoff === "fixed" ? backoff : "exponential";
  return { ...RETRY_DEFAULT, maxAttempts: max + 1, backoff: kind, maxMs: WAIT_MAX_MS };
}
