import type { Element, Flow, Process, ScopeGraph } from "../model/process.ts";
import { decodeXml } from "../xml/decode-xml.ts";
import { XML_LIMITS, type XmlElement } from "../xml/xml-element.ts";
import { checkProcess } from "./check-process.ts";
import { withIds } from "./element-ids.ts";
import { expressionIn } from "./expression-text.ts";
import { EXTENSION_NAMESPACES, extensionsOf } from "./extensions.ts";
import { ignoredExtensions } from "./ignored-extensions.ts";
import {
  flagIn,
  idIn,
  isModel,
  localId,
  type ModdleWarning,
  type Model,
  modelIn,
  modelsIn,
  parseDocument,
  tagOf,
  textIn,
} from "./moddle.ts";
import { embeddedForms } from "./model-form.ts";
import { type InspectedModel, Problems } from "./problem.ts";
import { elementOf, messageFlowNames, type ReadContext, startsOf, variableOf } from "./read-elements.ts";

const NOT_NODES = new Set(["dataObject", "dataObjectReference", "dataStoreReference", "sequenceFlow"]);

/** References to data types, which may be defined elsewhere. Nothing executable is lost with them. */
const TYPE_REFERENCES = new Set([
  "bpmn:structureRef",
  "bpmn:itemSubjectRef",
  "bpmn:itemRef",
  "bpmn:implementationRef",
  "bpmn:evaluatesToTypeRef",
  "bpmn:type",
  "bpmn:import",
]);

/** Reads the processes of a BPMN 2.0 document. Throws one `PawlError` with code `MODEL_INVALID` that lists all problems. */
export async function readBpmn(xml: string | Uint8Array): Promise<readonly Process[]> {
  const { processes, problems } = await inspectBpmn(xml);
  problems.check("the model");
  return processes;
}

/** Like `readBpmn`, but returns the problems. Throws only if the text is not BPMN at all. */
export async function inspectBpmn(xml: string | Uint8Array): Promise<InspectedModel> {
  const { text, tree } = withIds(decodeXml(xml, XML_LIMITS.charsMax));
  const problems = new Problems();
  const { lines, scripts } = surveyDocument(tree, problems);
  const { rootElement, warnings } = await parseDocument(text, tree);
  const roots = isModel(rootElement) ? modelsIn(rootElement, "rootElements") : [];
  const harmless = new Problems();
  const used = executedBy(roots);
  for (const warning of warnings) {
    const isHarmless = warning.value !== undefined && !changesExecution(warning, used);
    reportLostContent(warning, scripts, isHarmless ? harmless : problems);
  }
  const globals = roots.filter(({ $type }) => $type.startsWith("bpmn:Global"));
  const context: ReadContext = {
    problems,
    lineOf: (id) => (id === null ? null : (lines.get(id) ?? null)),
    idOf: (name) => localId(name, tree),
    globalScripts: scripts,
    globalTasks: new Map(globals.map((task) => [task.id ?? "", task])),
    messageNames: messageFlowNames(roots),
    forms: embeddedForms(roots.filter(({ $type }) => $type === "bpmn:Process")),
    ignored: [],
  };
  const processes = roots.filter(({ $type }) => $type === "bpmn:Process").map((model) => processOf(context, model));
  if (processes.length === 0) problems.add(null, null, "the document has no process; add one");
  for (const process of processes) if (process.isExecutable) checkProcess(process, problems);
  return { processes, problems, warnings: harmless.all, ignored: [...ignoredExtensions(tree), ...context.ignored] };
}

/** Everything that the executable processes contain or refer to. */
function executedBy(roots: readonly Model[]): ReadonlySet<unknown> {
  const used = new Set<unknown>();
  const waiting: unknown[] = roots.filter((root) => root.$type === "bpmn:Process" && flagIn(root, "isExecutable"));
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== "object" || value === null || used.has(value)) continue;
    used.add(value);
    waiting.push(...Object.values(value).filter((each) => each !== undefined));
  }
  return used;
}

/** References that the machine does not follow: those of diagrams, and messages of operations in other documents. */
const UNUSED_REFERENCES = /^bpmndi:|^bpmn:(?:inMessageRef|outMessageRef)$/;

/** Whether a reference that was not found belongs to something that is executed. */
function changesExecution({ property = "", element }: ModdleWarning, used: ReadonlySet<unknown>): boolean {
  return !UNUSED_REFERENCES.test(property) && (element === undefined || used.has(element));
}

/** The namespaces of BPMN and its diagrams. The `id` of an element of another namespace is not an id of the model. */
const OMG = /^http:\/\/www\.omg\.org\/spec\/(?:BPMN|DD)\//;

/** Reads what bpmn-moddle does not provide: line numbers, scripts of global tasks, and the extension namespaces in use. */
function surveyDocument(tree: XmlElement, problems: Problems) {
  const lines = new Map<string, number>();
  const scripts = new Map<string, string>();
  const used = new Set<string>();
  const waiting: XmlElement[] = [tree];
  for (let element = waiting.pop(); element !== undefined; element = waiting.pop()) {
    const id = OMG.test(element.namespace) ? element.attributes.get("id") : undefined;
    if (id === "") problems.add(null, element.line, `the id of the ${element.name} is empty; remove it, or give one`);
    if (id !== undefined && lines.has(id)) problems.add(id, element.line, "duplicate id; ids must be unique");
    if (id !== undefined && !lines.has(id)) lines.set(id, element.line);
    const known = EXTENSION_NAMESPACES[element.namespace];
    if (known !== undefined) used.add(known);
    if (element.name === "globalScriptTask" && id !== undefined) {
      const script = element.children.find(({ name }) => name === "script");
      if (script !== undefined) scripts.set(id, script.text);
    }
    waiting.push(...element.children);
  }
  if (used.size > 1) {
    const text = `the document mixes extensions of ${[...used].sort().join(" and ")}; use one of them`;
    problems.add(null, null, text);
  }
  return { lines, scripts };
}

/** Reports content that bpmn-moddle did not read, so that nothing is lost silently. */
function reportLostContent(
  { message, property, value, element }: ModdleWarning,
  scripts: ReadonlyMap<string, string>,
  problems: Problems,
): void {
  if (property !== undefined && TYPE_REFERENCES.has(property)) return;
  const first = message.split("\n")[0] ?? message;
  if (scripts.size > 0 && /^unparsable content <(?:\w+:)?script>/.test(first)) return;
  const line = /line: (\d+)/.exec(message)?.[1];
  const text =
    value === undefined
      ? `${first}; the content would be lost; remove it, or write it as the standard defines it`
      : dangling(property, value);
  problems.add(element?.id ?? null, line === undefined ? null : Number(line) + 1, text);
}

function dangling(property: string | undefined, value: string): string {
  return `${(property ?? "").replace(/^\w+:/, "")} refers to ${value}, which was not found; correct the reference`;
}

function processOf(document: ReadContext, model: Model): Process {
  // A process that is not executable may be incomplete.
  const context = flagIn(model, "isExecutable") ? document : { ...document, problems: new Problems(), ignored: [] };
  const elements = new Map<string, Element>();
  const flows = new Map<string, Flow>();
  const scopes = new Map<string, ScopeGraph>();
  const waiting: Model[] = [model];
  for (let scope = waiting.shift(); scope !== undefined; scope = waiting.shift()) {
    const nodes = readScope(context, scope, elements, flows);
    waiting.push(...nodes.filter((node) => modelsIn(node, "flowElements").length > 0 || "triggeredByEvent" in node));
    const id = scope.id ?? "";
    const inside = nodes.map((node) => node.id ?? "").filter((nodeId) => elements.has(nodeId));
    scopes.set(id, {
      id,
      elements: inside,
      starts: startsOf(inside.flatMap((nodeId) => elements.get(nodeId) ?? [])),
      eventSubProcesses: inside.filter((nodeId) => elements.get(nodeId)?.type === "eventSubProcess"),
      data: [...modelsIn(scope, "properties"), ...dataObjects(scope)].map(variableOf),
    });
  }
  const id = model.id ?? "";
  if (id === "") context.problems.add(null, null, "the process has no id; add one, because runs are started by it");
  const { properties } = extensionsOf(model);
  return {
    id,
    name: textIn(model, "name"),
    isExecutable: flagIn(model, "isExecutable"),
    versionTag: properties["versionTag.value"] ?? properties.versionTag ?? null,
    elements,
    flows,
    scopes: withEmpty(scopes, elements),
  };
}

/** Adds the scopes of empty sub-processes. */
function withEmpty(
  scopes: Map<string, ScopeGraph>,
  elements: ReadonlyMap<string, Element>,
): ReadonlyMap<string, ScopeGraph> {
  for (const element of elements.values()) {
    if (!("adHoc" in element) || scopes.has(element.id)) continue;
    scopes.set(element.id, { id: element.id, elements: [], starts: [], eventSubProcesses: [], data: [] });
  }
  return scopes;
}

function dataObjects(scope: Model): readonly Model[] {
  return modelsIn(scope, "flowElements").filter((each) => tagOf(each) === "dataObject");
}

/** Reads the elements and flows directly in a scope. Returns its flow nodes. */
function readScope(
  context: ReadContext,
  scope: Model,
  elements: Map<string, Element>,
  flows: Map<string, Flow>,
): readonly Model[] {
  const all = modelsIn(scope, "flowElements");
  const own = all.filter((each) => tagOf(each) === "sequenceFlow").flatMap((flow) => flowOf(context, flow));
  for (const flow of own) flows.set(flow.id, flow);
  const handlers = compensationHandlers(scope, all);
  const nodes = all.filter((each) => !NOT_NODES.has(tagOf(each)));
  const boundariesOf = grouped(nodes, (node) => idIn(node, "attachedToRef"));
  const incoming = grouped(own, ({ target }) => target);
  const outgoing = grouped(own, ({ source }) => source);
  for (const node of nodes) {
    const id = node.id ?? "";
    const boundaries = boundariesOf.get(id) ?? [];
    const isCompensation = (boundary: Model): boolean => handlers.has(boundary.id ?? "");
    const compensation = boundaries.find(isCompensation);
    const element = elementOf(context, node, {
      scope: scope.id ?? "",
      incoming: (incoming.get(id) ?? []).map((flow) => flow.id),
      outgoing: ordered(
        node,
        (outgoing.get(id) ?? []).map((flow) => flow.id),
      ),
      boundaries: boundaries.filter((boundary) => !isCompensation(boundary)).map((boundary) => boundary.id ?? ""),
      compensatedBy: compensation === undefined ? null : (handlers.get(compensation.id ?? "") ?? null),
    });
    if (element !== null) elements.set(id, element);
  }
  return nodes;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string | null): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function flowOf({ problems, lineOf }: ReadContext, flow: Model): readonly Flow[] {
  const source = idIn(flow, "sourceRef");
  const target = idIn(flow, "targetRef");
  const id = flow.id ?? "";
  if (source === null || target === null) {
    const end = source === null ? "sourceRef" : "targetRef";
    problems.add(id, lineOf(id), `the flow has no ${end}; connect both ends`);
    return [];
  }
  const condition = expressionIn(flow, "conditionExpression");
  return [{ id, name: textIn(flow, "name"), source, target, condition, line: lineOf(id) }];
}

/** Orders flows as the node lists them. Flows that it does not list come last. */
function ordered(node: Model, flowIds: readonly string[]): readonly string[] {
  const listed = modelsIn(node, "outgoing").map(({ id }) => id ?? "");
  const known = listed.filter((id, index) => flowIds.includes(id) && listed.indexOf(id) === index);
  return [...known, ...flowIds.filter((id) => !known.includes(id))];
}

/** The compensation handler of each compensation boundary event, by event id. Null if it has none. */
function compensationHandlers(scope: Model, all: readonly Model[]): ReadonlyMap<string, string | null> {
  const associations = modelsIn(scope, "artifacts").filter(({ $type }) => $type === "bpmn:Association");
  const handlers = new Map<string, string | null>();
  for (const node of all) {
    const definitions = [...modelsIn(node, "eventDefinitions"), ...modelsIn(node, "eventDefinitionRef")];
    if (!definitions.some(({ $type }) => $type === "bpmn:CompensateEventDefinition")) continue;
    if (tagOf(node) !== "boundaryEvent") continue;
    const association = associations.find((each) => modelIn(each, "sourceRef") === node);
    handlers.set(node.id ?? "", idIn(association ?? null, "targetRef"));
  }
  return handlers;
}
