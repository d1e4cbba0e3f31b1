import type { XmlElement } from "@pawl/bpmn";

/**
 * Compares the meaning of two XML documents. It ignores prefixes, layout, the order of attributes, the notation of numbers, and values
 * that equal the schema's default. Children of one name are compared in order.
 */
export function differences(left: XmlElement, right: XmlElement): readonly string[] {
  const found: string[] = [];
  const own = left.attributes.get("targetNamespace") ?? "";
  const waiting: Array<readonly [XmlElement, XmlElement, string]> = [[left, right, left.name]];
  for (let pair = waiting.pop(); pair !== undefined; pair = waiting.pop()) {
    const [a, b, path] = pair;
    if (textOf(a, own) !== textOf(b, own)) found.push(`${path}: the text ${textOf(a, own)} became ${textOf(b, own)}`);
    found.push(...attributeDifferences(a, b, own).map((text) => `${path}: ${text}`));
    const inRight = byName(b.children);
    const names = new Set([...byName(a.children).keys(), ...inRight.keys()]);
    for (const name of names) {
      const mine = byName(a.children).get(name) ?? [];
      const theirs = inRight.get(name) ?? [];
      if (mine.length !== theirs.length) found.push(`${path}: ${mine.length} of ${name} became ${theirs.length}`);
      mine.forEach((child, i) => {
        const other = theirs[i];
        if (other !== undefined) waiting.push([child, other, `${path}/${child.attributes.get("id") ?? child.name}`]);
      });
    }
  }
  return found;
}

function byName(elements: readonly XmlElement[]): ReadonlyMap<string, readonly XmlElement[]> {
  const groups = new Map<string, XmlElement[]>();
  for (const element of elements) {
    const name = `{${element.namespace}}${element.name}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [element]);
    else group.push(element);
  }
  return groups;
}

function textOf(element: XmlElement, own: string): string {
  const text = element.text.trim().replaceAll(/\s+/g, " ");
  // The text may be a qualified name that refers to an element.
  return element.children.length === 0 ? qualified(element, text, own) : text;
}

function attributeDifferences(a: XmlElement, b: XmlElement, own: string): readonly string[] {
  const [before, after] = [attributesOf(a, own), attributesOf(b, own)];
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)];
    return was === is ? [] : [`${name} changed from ${was ?? "nothing"} to ${is ?? "nothing"}`];
  });
}

const XSI_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type";
const POINT = "{http://www.omg.org/spec/DD/20100524/DC}Point";

function attributesOf(element: XmlElement, own: string): ReadonlyMap<string, string> {
  const all = new Map<string, string>();
  for (const [name, value] of element.attributes) {
    const full = name.includes(":") ? qualified(element, name, "") : name;
    const meant = numberOf(qualified(element, value, own));
    // Points of a line always have the schema's type.
    if (DEFAULTS[full] === meant || (full === XSI_TYPE && meant === POINT)) continue;
    all.set(full, meant);
  }
  return all;
}

/** Expands a qualified name. Names in the document's own namespace have no prefix. */
function qualified(element: XmlElement, text: string, own: string): string {
  const [, prefix = "", name] = /^([\w.-]+):(\S+)$/.exec(text) ?? [];
  const namespace = element.prefixes.get(prefix);
  if (name === undefined || namespace === undefined) return text;
  return namespace === own ? name : `{${namespace}}${name}`;
}

function numberOf(text: string): string {
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? String(Number(text)) : text;
}

/** Default values of attributes in the schema of BPMN 2.0. */
const DEFAULTS: Readonly<Record<string, string>> = {
  associationDirection: "None",
  behavior: "All",
  cancelActivity: "true",
  cancelRemainingInstances: "true",
  completionQuantity: "1",
  eventGatewayType: "Exclusive",
  expressionLanguage: "http://www.w3.org/1999/XPath",
  gatewayDirection: "Unspecified",
  instantiate: "false",
  isClosed: "false",
  isCollection: "false",
  isForCompensation: "false",
  isInterrupting: "true",
  isSequential: "false",
  isUnlimited: "true",
  itemKind: "Information",
  mustUnderstand: "false",
  ordering: "Parallel",
  parallelMultiple: "false",
  processType: "None",
  startQuantity: "1",
  testBefore: "false",
  textFormat: "text/plain",
  triggeredByEvent: "false",
  typeLanguage: "http://www.w3.org/2001/XMLSchema",
  waitForCompletion: "true",
};
