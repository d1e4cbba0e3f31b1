import {
  computed,
  type Element,
  type Expression,
  type Flow,
  NODE_TYPE,
  type Process,
  type ScopeGraph,
} from "../model/process.ts";
import { taskTimeoutMs } from "../model/timer.ts";
import { checkProcess } from "./check-process.ts";
import { type Data, GraphData, isData } from "./graph-data.ts";
import { elementOf, type GraphPlace, isSubProcessType, NODE_TYPES } from "./graph-elements.ts";
import { type InspectedModel, Problems } from "./problem.ts";
import { startsOf } from "./read-elements.ts";

/** A process as a JSON graph of nodes and connections. */
export interface Graph {
  readonly id: string;
  readonly name?: string;
  readonly versionTag?: string;
  /** Names of variables that exist from the start, as null. */
  readonly variables?: readonly string[];
  readonly nodes: readonly GraphNode[];
  readonly connections: readonly GraphConnection[];
}

export interface GraphNode {
  readonly id: string;
  /** A type of BPMN, such as `userTask`; `startProcess`, `endProcess` and `businessRule`; or a key of `nodeTypes` of `createBpmn`. */
  readonly type: string;
  /** The sub-process that contains the node. */
  readonly parent?: string;
  /** Settings of the node, as docs/graphs.md lists them. Other fields are properties, for handlers and forms. */
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface GraphConnection {
  readonly id?: string;
  readonly source: string;
  readonly target: string;
  readonly label?: string;
  /** A FEEL expression. */
  readonly condition?: string | { readonly text: string; readonly language?: string };
  /** Taken if no condition is met. */
  readonly isDefault?: boolean;
}

/** An id is used in journal locations. */
const ID = /^[\p{L}\p{N}_.:-]{1,200}$/u;

/** Reads the process of a graph. Throws one `MODEL_INVALID` error that lists all problems. */
export function readGraph(graph: Graph): Process {
  const { processes, problems } = inspectGraph(graph);
  problems.check("the graph");
  const [process] = processes;
  if (process === undefined) throw new Error("a graph without problems has no process");
  return process;
}

/** Makes service tasks of the nodes whose types an application has added. A stored graph needs no list of these types. */
export function withNodeTypes(graph: Graph, types: readonly string[]): Graph {
  if (types.length === 0 || !isData(graph) || !Array.isArray(graph.nodes)) return graph;
  const nodes = graph.nodes.map((node: GraphNode): GraphNode => {
    if (!isData(node) || !types.includes(node.type)) return node;
    const { data = {} } = node;
    // Data of a wrong type is a problem that is found later.
    return isData(data) ? { ...node, type: "serviceTask", data: { ...data, [NODE_TYPE]: node.type } } : node;
  });
  return { ...graph, nodes };
}

/** Like `readGraph`, but returns the problems. Throws only if the graph has the wrong shape. */
export function inspectGraph(given: Graph): InspectedModel {
  const problems = new Problems();
  checkShape(given, problems);
  problems.check("the graph");
  const graph = expanded(given);
  const flows = flowsOf(graph, problems);
  const elements = elementsOf(graph, flows, problems);
  const process: Process = {
    id: graph.id,
    name: graph.name ?? null,
    isExecutable: true,
    versionTag: graph.versionTag ?? null,
    elements,
    flows: new Map(flows.map(({ isDefault: _, ...flow }) => [flow.id, flow])),
    scopes: scopesOf(graph, elements),
  };
  checkProcess(process, problems);
  return { processes: [process], problems, warnings: [], ignored: [] };
}

/**
 * Adds what nodes abbreviate: the error event of an `errorBoundary`, with a flow to the node that it names, and the compensation
 * event of a node with `compensatedBy`.
 */
function expanded(graph: Graph): Graph {
  const nodes: GraphNode[] = [];
  const connections: GraphConnection[] = [];
  const compensated = new Set(graph.nodes.flatMap(({ data }) => (isCompensation(data) ? [data?.attachedTo] : [])));
  for (const { id, type, parent, data = {} } of graph.nodes) {
    const add = (name: string, own: Data): string => {
      const event = `${id}.${name}`;
      const data = { attachedTo: id, ...own };
      nodes.push({ id: event, type: "boundaryEvent", ...(parent !== undefined && { parent }), data });
      return event;
    };
    if (typeof data.compensatedBy === "string" && !compensated.has(id)) add("compensation", { compensation: true });
    if (typeof data.errorBoundary !== "string" || type === "boundaryEvent") continue;
    const source = add("errorBoundary", { error: { failures: true } });
    connections.push({ id: `${source}.flow`, source, target: data.errorBoundary });
  }
  if (nodes.length === 0) return graph;
  return { ...graph, nodes: [...graph.nodes, ...nodes], connections: [...graph.connections, ...connections] };
}

type GraphFlow = Flow & { readonly isDefault: boolean };

function elementsOf(graph: Graph, flows: readonly GraphFlow[], problems: Problems): ReadonlyMap<string, Element> {
  const types = new Map(graph.nodes.map(({ id, type }) => [id, type]));
  const placeOf = places(graph, flows);
  const elements = new Map<string, Element>();
  for (const node of graph.nodes) {
    const { id, type, parent, data = {} } = node;
    if (!ID.test(id)) problems.add(id, null, "an id may contain only letters, digits and . : - _; rename it");
    if (elements.has(id) || id === graph.id) problems.add(id, null, "duplicate id; node ids must be unique");
    if (parent !== undefined && !isSubProcessType(types.get(parent) ?? ""))
      problems.add(id, null, `its parent ${parent} is not a sub-process of the graph; correct it`);
    checkReferences(node, types, problems);
    const element = elementOf(placeOf(node), type, data, new GraphData(data, id, problems));
    if (element === null) problems.add(id, null, `unknown node type ${type}; use ${NODE_TYPES.join(", ")}`);
    else elements.set(id, element);
  }
  checkNesting(graph, problems);
  return elements;
}

const WITHOUT_HANDLER =
  /^(?:task|manualTask|userTask|receiveTask|callActivity)$|Gateway$|Event$|[sS]ubProcess$|^transaction$|Process$/;

/** Checks the fields that name other nodes or variables. */
function checkReferences(
  { id, type, data = {} }: GraphNode,
  types: ReadonlyMap<string, string>,
  problems: Problems,
): void {
  for (const field of ["errorBoundary", "compensatedBy"] as const) {
    const target = data[field];
    if (target === undefined || target === null) continue;
    if (typeof target !== "string" || !types.has(target))
      problems.add(id, null, `data.${field} must be the id of a node of the graph`);
  }
  const { compensation, variables, timeout } = data;
  if (timeout !== undefined && taskTimeoutMs(String(timeout)) === null)
    problems.add(id, null, "data.timeout must be milliseconds or a duration such as PT5S");
  if (timeout !== undefined && WITHOUT_HANDLER.test(type))
    problems.add(id, null, "data.timeout limits tasks with handlers; add a boundary event with a timer instead");
  if (isSubProcessType(types.get(id) ?? "") && !isOf(variables, "strings?"))
    problems.add(id, null, "data.variables must be a list of strings");
  const activity = isData(compensation) ? compensation.activity : compensation;
  if (typeof activity === "string" && activity !== "" && !types.has(activity))
    problems.add(id, null, `data.compensation names ${activity}, which is not a node of the graph`);
}

/** Reports nodes that contain themselves. */
function checkNesting({ nodes }: Graph, problems: Problems): void {
  const parents = new Map(nodes.map(({ id, parent }) => [id, parent]));
  const rooted = new Set<string>();
  for (const { id } of nodes) {
    const path = new Set<string>();
    let at: string | undefined = id;
    while (at !== undefined && !rooted.has(at) && !path.has(at)) {
      path.add(at);
      at = parents.get(at);
    }
    if (at !== undefined && path.has(at)) problems.add(id, null, "the node contains itself; correct its parent");
    for (const each of path) rooted.add(each);
  }
}

/** Finds how each node is connected. */
function places({ id: process, nodes }: Graph, flows: readonly GraphFlow[]): (node: GraphNode) => GraphPlace {
  const incoming = grouped(flows, ({ target }) => target);
  const outgoing = grouped(flows, ({ source }) => source);
  const events = nodes.filter(({ type, data }) => type === "boundaryEvent" && !isCompensation(data));
  const boundaries = grouped(events, ({ data }) => String(data?.attachedTo));
  const handlers = new Set(nodes.map(({ data }) => data?.compensatedBy));
  return ({ id, parent = process }) => ({
    id,
    scope: parent,
    incoming: (incoming.get(id) ?? []).map((flow) => flow.id),
    outgoing: (outgoing.get(id) ?? []).map((flow) => flow.id),
    default: (outgoing.get(id) ?? []).find(({ isDefault }) => isDefault)?.id ?? null,
    boundaries: (boundaries.get(id) ?? []).map((event) => event.id),
    compensates: handlers.has(id),
  });
}

function isCompensation(data: Data = {}): boolean {
  const { compensation, triggers } = data;
  const listed = Array.isArray(triggers) && triggers.some((each) => isData(each) && each.compensation !== undefined);
  return (compensation !== undefined && compensation !== null) || listed;
}

function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function scopesOf(graph: Graph, elements: ReadonlyMap<string, Element>): ReadonlyMap<string, ScopeGraph> {
  const inside = grouped([...elements.values()], ({ scope }) => scope);
  const scope = (id: string, data: readonly string[]): readonly [string, ScopeGraph] => {
    const own = inside.get(id) ?? [];
    const eventSubProcesses = own.filter(({ type }) => type === "eventSubProcess").map((each) => each.id);
    return [id, { id, elements: own.map((each) => each.id), starts: startsOf(own), eventSubProcesses, data }];
  };
  const subProcesses = graph.nodes.filter(({ type }) => isSubProcessType(type));
  return new Map([
    scope(graph.id, graph.variables ?? []),
    ...subProcesses.map(({ id, data }) => scope(id, namesIn(data?.variables))),
  ]);
}

function namesIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** The types of the fields that are read. Other fields may have any type. */
const GRAPH_FIELDS = { name: "string?", versionTag: "string?", variables: "strings?" } as const;
const NODE_FIELDS: Fields = { id: "string", type: "string", parent: "string?", data: "object?" };
const CONNECTION_FIELDS: Fields = {
  id: "string?",
  source: "string",
  target: "string",
  label: "string?",
  condition: "expression?",
  isDefault: "boolean?",
};

type Fields = Readonly<Record<string, "string" | "string?" | "boolean?" | "object?" | "expression?" | "strings?">>;

function checkShape(graph: unknown, problems: Problems): void {
  const { id, nodes, connections, ...rest } = (graph ?? {}) as Partial<Record<keyof Graph, unknown>>;
  if (typeof id !== "string" || !ID.test(id)) problems.add(null, null, "the graph has no valid id; add one");
  for (const [field, type] of Object.entries(GRAPH_FIELDS))
    if (!isOf(rest[field as keyof typeof rest], type))
      problems.add(
        null,
        null,
        `${field} of the graph must be ${type === "strings?" ? "a list of strings" : "a string"}`,
      );
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
      return isData(value);
    case "strings?":
      return Array.isArray(value) && value.every((each) => typeof each === "string");
    case "expression?":
      return typeof value === "string" || (isData(value) && isExpression(value));
  }
}

function isExpression({ text, language }: Data): boolean {
  return typeof text === "string" && isOf(language, "string?");
}

function flowsOf({ connections }: Graph, problems: Problems): readonly GraphFlow[] {
  const seen = new Set<string>();
  const defaults = new Set<string>();
  return connections.map(({ id, source, target, label, condition, isDefault = false }, i) => {
    const flow = id ?? `connection-${i + 1}`;
    if (seen.has(flow)) problems.add(flow, null, "duplicate id; connection ids must be unique");
    if (isDefault && defaults.has(source))
      problems.add(flow, null, `${source} has two default connections; remove one`);
    if (isDefault) defaults.add(source);
    seen.add(flow);
    const expression = conditionOf(condition);
    return { id: flow, name: label ?? null, source, target, condition: expression, line: null, isDefault };
  });
}

function conditionOf(condition: GraphConnection["condition"]): Expression | null {
  if (condition === undefined || condition === "") return null;
  return typeof condition === "string" ? computed(condition) : computed(condition.text, condition.language ?? null);
}
