import { readXml } from "../xml/read-xml.ts";
import type { XmlElement } from "../xml/xml-element.ts";
import { BPMN_NAMESPACE } from "./moddle.ts";

/**
 * The schema of BPMN lets an element have no id, and the machine needs one for each. A missing id is derived from the name of
 * the element, or from the ends of a sequence flow, so that it changes as little as possible when the model is edited.
 */

const CONTAINERS = new Set(["process", "subProcess", "transaction", "adHocSubProcess"]);
const FLOW_ELEMENT = /Event$|[Tt]ask$|Gateway$|ubProcess$|^(?:transaction|callActivity|sequenceFlow|dataObject\w*)$/;
const NAME_CHARS_MAX = 40;

/** The text with an id in each flow element, and its tree. */
export function withIds(text: string): { readonly text: string; readonly tree: XmlElement } {
  const tree = readXml(text);
  const missing: XmlElement[] = [];
  const used = new Set<string>();
  survey(tree, missing, used);
  if (missing.length === 0) return { text, tree };
  const counts = new Map<string, number>();
  const parts: string[] = [];
  let at = 0;
  for (const element of missing) {
    parts.push(text.slice(at, element.nameEnd), ` id="${freshId(element, used, counts)}"`);
    at = element.nameEnd;
  }
  const named = parts.join("") + text.slice(at);
  return { text: named, tree: readXml(named) };
}

/** Collects the flow elements without an id, in the order of the document, and all ids. */
function survey(root: XmlElement, missing: XmlElement[], used: Set<string>): void {
  const waiting = [root];
  for (let element = waiting.pop(); element !== undefined; element = waiting.pop()) {
    const id = element.attributes.get("id");
    if (id !== undefined) used.add(id);
    const isContainer = element.namespace === BPMN_NAMESPACE && CONTAINERS.has(element.name);
    if (isContainer) for (const child of element.children) if (isNameless(child)) missing.push(child);
    waiting.push(...element.children.toReversed());
  }
  missing.sort((a, b) => a.nameEnd - b.nameEnd);
}

function isNameless({ namespace, name, attributes }: XmlElement): boolean {
  return namespace === BPMN_NAMESPACE && FLOW_ELEMENT.test(name) && !attributes.has("id");
}

/** `counts` makes many elements of one name cost no search. */
function freshId({ name, attributes }: XmlElement, used: Set<string>, counts: Map<string, number>): string {
  const ends = name === "sequenceFlow" ? ["sourceRef", "targetRef"] : ["name"];
  const words = ends.map((each) => (attributes.get(each) ?? "").replace(/[^\w.-]+/g, "_").slice(0, NAME_CHARS_MAX));
  const wanted = [name, ...words.filter((word) => word !== "")].join("-");
  let count = counts.get(wanted) ?? 1;
  let id = count === 1 ? wanted : `${wanted}-${count}`;
  while (used.has(id)) {
    count += 1;
    id = `${wanted}-${count}`;
  }
  counts.set(wanted, count);
  used.add(id);
  return id;
}
