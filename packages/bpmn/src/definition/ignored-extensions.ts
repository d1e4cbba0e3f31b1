import type { XmlElement } from "../xml/xml-element.ts";
import { BPMN_NAMESPACE } from "./moddle.ts";
import type { IgnoredExtension } from "./problem.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ""));

const ANYWHERE: ReadonlySet<string> | null = null;
const TASKS = "task manualTask userTask serviceTask scriptTask businessRuleTask sendTask receiveTask";
const ACTIVITIES = `${TASKS} callActivity subProcess transaction adHocSubProcess`;
const EVENTS = "startEvent intermediateCatchEvent intermediateThrowEvent endEvent boundaryEvent";
/** Elements that call a handler. */
const WORK = words("serviceTask sendTask scriptTask businessRuleTask intermediateThrowEvent endEvent");
const USER_TASK = words("userTask");
const CALL = words("callActivity");
const LOOP = words("multiInstanceLoopCharacteristics");
const WITH_MESSAGE = words("message receiveTask sendTask messageEventDefinition intermediateCatchEvent boundaryEvent");
const ONLY_PROCESS = words("process");

/** The extension elements that are executed, by local name, with the elements of BPMN in which they are. */
const ELEMENTS: Readonly<Record<string, ReadonlySet<string> | null>> = {
  properties: ANYWHERE,
  property: ANYWHERE,
  taskHeaders: ANYWHERE,
  taskDefinition: WORK,
  retry: WORK,
  ioMapping: words(`${ACTIVITIES} ${EVENTS}`),
  inputOutput: words(`${ACTIVITIES} ${EVENTS}`),
  calledElement: CALL,
  in: CALL,
  out: CALL,
  calledDecision: words("businessRuleTask"),
  script: words("scriptTask"),
  subscription: WITH_MESSAGE,
  loopCharacteristics: LOOP,
  adHoc: words("adHocSubProcess"),
  assignmentDefinition: USER_TASK,
  taskSchedule: USER_TASK,
  priorityDefinition: USER_TASK,
  formDefinition: USER_TASK,
  userTask: USER_TASK,
  versionTag: ONLY_PROCESS,
};

/** The extension attributes that are executed, in the same way. */
const ATTRIBUTES: Readonly<Record<string, ReadonlySet<string> | null>> = {
  // Every element is durable before it begins and after it ends, and no two handlers exclude each other.
  asyncBefore: ANYWHERE,
  asyncAfter: ANYWHERE,
  exclusive: ANYWHERE,
  async: ANYWHERE,
  type: WORK,
  topic: WORK,
  class: WORK,
  delegateExpression: WORK,
  handler: WORK,
  retries: WORK,
  resultVariable: WORK,
  decisionRef: words("businessRuleTask"),
  correlationKey: WITH_MESSAGE,
  calledElementVersion: CALL,
  waitForCompletion: CALL,
  collection: LOOP,
  elementVariable: LOOP,
  assignee: USER_TASK,
  candidateUsers: USER_TASK,
  candidateGroups: USER_TASK,
  priority: USER_TASK,
  dueDate: USER_TASK,
  followUpDate: USER_TASK,
  description: USER_TASK,
  formId: USER_TASK,
  formKey: USER_TASK,
  formSchema: USER_TASK,
  versionTag: ONLY_PROCESS,
};

/** Attributes of extension elements of which not all are executed. */
const PARTS: Readonly<Record<string, ReadonlySet<string>>> = {
  calledElement: words("processId version waitForCompletion"),
  calledDecision: words("decisionId resultVariable"),
  formDefinition: words("formId formKey"),
  in: words("source sourceExpression target"),
  out: words("source sourceExpression target"),
  adHoc: words("activeElementsCollection"),
};

/** Content that is for modelers only. */
const PRESENTATION = words("modelerTemplate modelerTemplateVersion modelerTemplateIcon");
const PRESENTATION_NAMESPACES: ReadonlySet<string> = new Set([
  "http://camunda.org/schema/modeler/1.0",
  "http://bpmn.io/schema/bpmn/biocolor/1.0",
  "http://www.omg.org/spec/BPMN/non-normative/color/1.0",
]);
const STANDARD = /^http:\/\/www\.(?:omg\.org\/spec\/(?:BPMN|DD)|w3\.org)\//;
/** Attributes in this namespace reach the handler of the element as its properties, under any name. */
const OWN = "urn:pawl:bpmn";

/** Every extension in the executable processes, and in the messages and errors beside them, that is not executed. */
export function ignoredExtensions(tree: XmlElement): readonly IgnoredExtension[] {
  const found: IgnoredExtension[] = [];
  const waiting = tree.children.filter(isExecuted).map((element) => ({ element, id: idOf(element, null) }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { element, id } = next;
    const add = (extension: string): void => void found.push({ element: id, extension, line: element.line });
    for (const name of foreignAttributes(element)) if (!isKnown(ATTRIBUTES, localName(name), element.name)) add(name);
    for (const child of element.children) {
      if (child.namespace !== BPMN_NAMESPACE) continue;
      if (child.name === "extensionElements") found.push(...inElements(element, child, id));
      else waiting.push({ element: child, id: idOf(child, id) });
    }
  }
  return found.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

function isExecuted({ namespace, name, attributes }: XmlElement): boolean {
  if (namespace !== BPMN_NAMESPACE || name === "collaboration") return false;
  return name !== "process" || ["true", "1"].includes(attributes.get("isExecutable")?.trim() ?? "");
}

function idOf({ attributes }: XmlElement, around: string | null): string | null {
  return attributes.get("id") ?? around;
}

/** The extension elements of an element that are not executed, and the parts of others. */
function inElements(holder: XmlElement, extensions: XmlElement, id: string | null): readonly IgnoredExtension[] {
  return extensions.children.flatMap((each): readonly IgnoredExtension[] => {
    if (isPresentation(each.namespace, each.name)) return [];
    const extension = writtenName(each);
    if (!isKnown(ELEMENTS, each.name, holder.name)) return [{ element: id, extension, line: each.line }];
    const parts = PARTS[each.name];
    const unknown = parts === undefined ? [] : [...each.attributes.keys()].filter((name) => !parts.has(name));
    return unknown.map((name) => ({ element: id, extension: `${extension} ${name}`, line: each.line }));
  });
}

function isKnown(table: typeof ELEMENTS, name: string, holder: string): boolean {
  if (!Object.hasOwn(table, name)) return false;
  const places = table[name] ?? null;
  return places === null || places.has(holder) || holder.startsWith("global");
}

function foreignAttributes({ attributes, prefixes }: XmlElement): readonly string[] {
  return [...attributes.keys()].filter((name) => {
    const colon = name.indexOf(":");
    if (colon === -1 || name.startsWith("xml:")) return false;
    const namespace = prefixes.get(name.slice(0, colon)) ?? "";
    return namespace !== OWN && !isPresentation(namespace, localName(name));
  });
}

function isPresentation(namespace: string, name: string): boolean {
  return PRESENTATION_NAMESPACES.has(namespace) || STANDARD.test(namespace) || PRESENTATION.has(name);
}

function writtenName({ name, namespace, prefixes }: XmlElement): string {
  for (const [prefix, uri] of prefixes) if (uri === namespace && prefix !== "") return `${prefix}:${name}`;
  return name;
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
