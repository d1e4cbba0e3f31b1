import { BpmnModdle } from "bpmn-moddle";
import { decodeXml } from "../xml/decode-xml.ts";
import { readXml } from "../xml/read-xml.ts";
import { XML_LIMITS, type XmlElement } from "../xml/xml-element.ts";

/** Reads of what bpmn-moddle gives: an object by its type, whose members may be anything. */

export interface Model {
  readonly $type: string;
  readonly $attrs?: Readonly<Record<string, string>>;
  readonly $parent?: Model;
  readonly $children?: readonly Model[];
  readonly $body?: string;
  readonly id?: string;
}

export function isModel(value: unknown): value is Model {
  return typeof value === "object" && value !== null && "$type" in value;
}

export function textIn(model: Model | null, name: string): string | null {
  const value = model === null ? undefined : (model as unknown as Record<string, unknown>)[name];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : null;
}

export function flagIn(model: Model, name: string): boolean {
  return (model as unknown as Record<string, unknown>)[name] === true;
}

export function countIn(model: Model, name: string, fallback: number): number {
  const value = (model as unknown as Record<string, unknown>)[name];
  return typeof value === "number" ? value : fallback;
}

export function modelIn(model: Model | null, name: string): Model | null {
  const value = model === null ? undefined : (model as unknown as Record<string, unknown>)[name];
  return isModel(value) ? value : null;
}

export function modelsIn(model: Model | null, name: string): readonly Model[] {
  const value = model === null ? undefined : (model as unknown as Record<string, unknown>)[name];
  return Array.isArray(value) ? value.filter(isModel) : [];
}

export function idIn(model: Model | null, name: string): string | null {
  return modelIn(model, name)?.id ?? null;
}

/** `bpmn:UserTask` as the standard spells it in XML: `userTask`. */
export function tagOf({ $type }: Model): string {
  const name = $type.slice($type.indexOf(":") + 1);
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}

/**
 * The text as bpmn-moddle is to read it. It is decoded already: what it says of its encoding would only mislead. References may be
 * qualified names; those of this very document are made plain ids, which is all that bpmn-moddle follows.
 */
export function textForModdle(text: string, tree: XmlElement): string {
  const start = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const plain = start.replace(/^<\?xml[^>]*\?>/, "");
  const own = ownPrefixes(tree);
  if (own.size === 0) return plain;
  const ids = idsIn(tree);
  return plain.replace(
    /(["'>]\s*)([\w.-]+):([\w.-]+)(?=\s*["'<])/g,
    (whole, before: string, prefix: string, id: string) => (own.has(prefix) && ids.has(id) ? `${before}${id}` : whole),
  );
}

/** Without the prefix, if that is one of the document. */
export function localId(name: string, tree: XmlElement): string {
  const [, prefix = "", id] = /^([\w.-]+):([\w.-]+)$/.exec(name) ?? [];
  return id !== undefined && tree.prefixes.has(prefix) ? id : name;
}

/** The prefixes that stand for what this document defines. */
function ownPrefixes(tree: XmlElement): ReadonlySet<string> {
  const target = tree.attributes.get("targetNamespace");
  const own = [...tree.prefixes].filter(([prefix, namespace]) => prefix !== "" && namespace === target);
  return new Set(own.map(([prefix]) => prefix));
}

function idsIn(tree: XmlElement): ReadonlySet<string> {
  const ids = new Set<string>();
  const waiting: XmlElement[] = [tree];
  for (let element = waiting.pop(); element !== undefined; element = waiting.pop()) {
    const id = element.attributes.get("id");
    if (id !== undefined) ids.add(id);
    waiting.push(...element.children);
  }
  return ids;
}

/**
 * Reads a BPMN 2.0 document, diagrams and extensions with it, and writes what was read as a document again: in UTF-8, laid out
 * evenly, without what says no more than the standard's defaults. Documents that are not well-formed are refused as `readBpmn`
 * does.
 */
export async function rewriteBpmn(xml: string | Uint8Array): Promise<string> {
  const text = decodeXml(xml, XML_LIMITS.charsMax);
  const tree = readXml(text);
  const moddle = new BpmnModdle();
  const { rootElement } = await moddle.fromXML(textForModdle(text, tree));
  const written = await moddle.toXML(rootElement, { format: true });
  return written.xml.replace(/<!\[CDATA\[.*?\]\]>|\r/gs, (part) => (part === "\r" ? "&#13;" : part));
}
