import type { XmlElement } from "../xml/xml-element.ts";
import { retryCycle } from "./extensions.ts";
import { BPMN_NAMESPACE } from "./moddle.ts";
import type { IgnoredExtension } from "./problem.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ""));

const ANYWHERE: ReadonlySet<string> | null = null;
const TASKS = "task manualTask userTask serviceTask scriptTask businessRuleTask sendTask receiveTask";
const ACTIVITIES = `${TASKS} callActivity subProcess transaction adHocSubProcess`;
const EVENTS = "startEvent intermediateCatchEvent intermediateThrowEvent endEvent boundaryEvent";
const GATEWAYS = "exclusiveGateway parallelGateway inclusiveGateway complexGateway eventBasedGateway";
const NODES = words(`${ACTIVITIES} ${EVENTS} ${GATEWAYS}`);
/** Elements that call a handler. */
const WORK_ELEMENTS = "serviceTask sendTask scriptTask businessRuleTask intermediateThrowEvent endEvent";
const WORK = words(WORK_ELEMENTS);
const HANDLER = words(`${WORK_ELEMENTS} messageEventDefinition`);
const USER_TASK = words("userTask");
const WITH_FORM = words("userTask startEvent");
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
  failedJobRetryTimeCycle: WORK,
  connector: HANDLER,
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
  formDefinition: WITH_FORM,
  formData: WITH_FORM,
  form: WITH_FORM,
  // Those for other events are listed when they are read.
  executionListener: NODES,
  executionListeners: NODES,
  taskListener: USER_TASK,
  taskListeners: USER_TASK,
  userTaskForm: ONLY_PROCESS,
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
  type: HANDLER,
  topic: HANDLER,
  class: HANDLER,
  delegateExpression: HANDLER,
  handler: HANDLER,
  retries: WORK,
  resultVariable: WORK,
  decisionRef: words("businessRuleTask"),
  decisionRefBinding: words("businessRuleTask"),
  decisionRefVersion: words("businessRuleTask"),
  decisionRefVersionTag: words("businessRuleTask"),
  formRef: WITH_FORM,
  formRefBinding: WITH_FORM,
  formRefVersion: WITH_FORM,
  correlationKey: WITH_MESSAGE,
  calledElementVersion: CALL,
  calledElementVersionTag: CALL,
  calledElementBinding: CALL,
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
  formId: WITH_FORM,
  formKey: WITH_FORM,
  formSchema: WITH_FORM,
  versionTag: ONLY_PROCESS,
  errorCodeVariable: words("errorEventDefinition"),
  errorMessageVariable: words("errorEventDefinition"),
  errorMessage: words("error"),
  escalationCodeVariable: words("escalationEventDefinition"),
};

/** Attributes of extension elements of which not all are executed. */
const PARTS: Readonly<Record<string, ReadonlySet<string>>> = {
  taskDefinition: words("type retries"),
  calledElement: words(
    "processId version versionTag bindingType waitForCompletion propagateAllParentVariables propagateAllChildVariables",
  ),
  calledDecision: words("decisionId resultVariable bindingType versionTag"),
  formDefinition: words("formId formKey bindingType versionTag"),
  formData: words(""),
  in: words("source sourceExpression target variables businessKey"),
  out: words("source sourceExpression target variables"),
  adHoc: words("activeElementsCollection"),
};

const IS_NUMBER = /^\s*\d+\s*$/;

/** Whether the value of an extension element, or of one of its attributes, is not executed although its name is known. */
function isIgnoredValue({ name, attributes, text }: XmlElement, attribute: string | null): boolean {
  if (name === "failedJobRetryTimeCycle") return attribute === null && retryCycle(text) === null;
  const value = attribute === null ? "" : (attributes.get(attribute) ?? "");
  if (name === "taskDefinition" && attribute === "retries") return !IS_NUMBER.test(value);
  // A called process has the business key of its caller.
  return (
    name === "in" && attribute === "businessKey" && !/^[$#]\{\s*execution\.(?:processB|b)usinessKey\s*\}$/.test(value)
  );
}

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
    if (!isKnown(ELEMENTS, each.name, holder.name) || isIgnoredValue(each, null))
      return [{ element: id, extension, line: each.line }];
    const parts = PARTS[each.name];
    const isIgnored = (name: string): boolean => parts?.has(name) === false || isIgnoredValue(each, name);
    const unknown = [...each.attributes.keys()].filter(isIgnored);
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
