import { BpmnModdle } from "bpmn-moddle";
import { decodeXml } from "../xml/decode-xml.ts";
import { readXml } from "../xml/read-xml.ts";
import { XML_LIMITS, type XmlElement } from "../xml/xml-element.ts";
import { modelInvalid } from "./problem.ts";

/** Accessors for the objects of bpmn-moddle, whose properties have unknown types. */

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

/** The XML name of a type: `bpmn:UserTask` becomes `userTask`. */
export function tagOf({ $type }: Model): string {
  const name = $type.slice($type.indexOf(":") + 1);
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}

/**
 * Prepares the text for bpmn-moddle. The encoding declaration is removed, because the text is already decoded. Qualified
 * references to elements of this document become plain ids, because bpmn-moddle resolves only those.
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

export const BPMN_NAMESPACE = "http://www.omg.org/spec/BPMN/20100524/MODEL";

let cachedModdle: BpmnModdle | null = null;

/** Cached, because building its metamodel is slow. Reading does not change it. */
function moddle(): BpmnModdle {
  cachedModdle ??= new BpmnModdle();
  return cachedModdle;
}

/** What bpmn-moddle reports about content that it did not read. */
export interface ModdleWarning {
  readonly message: string;
  readonly property?: string;
  readonly value?: string;
  readonly element?: { readonly id?: string };
}

/** A parsed document. The published declarations of this package must not name the types of bpmn-moddle, which has none. */
export interface ParsedDocument {
  readonly rootElement: unknown;
  readonly warnings: readonly ModdleWarning[];
}

/** Parses with bpmn-moddle. Errors of the parser become `MODEL_INVALID`. */
export async function parseDocument(text: string, tree: XmlElement): Promise<ParsedDocument> {
  if (tree.name !== "definitions" || tree.namespace !== BPMN_NAMESPACE) {
    const found = `<${tree.name}> of ${tree.namespace === "" ? "no namespace" : `namespace ${tree.namespace}`}`;
    const problem = `the root element is ${found.slice(0, 200)}; it must be <definitions> of namespace ${BPMN_NAMESPACE}`;
    throw modelInvalid("the document", [{ element: null, line: tree.line, text: problem }]);
  }
  try {
    return await moddle().fromXML(textForModdle(text, tree));
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    const problem = { element: null, line: null, text: `the document cannot be read as BPMN 2.0: ${reason}` };
    throw modelInvalid("the document", [problem], error);
  }
}

/** Removes the prefix of a qualified name, if the document declares it. */
export function localId(name: string, tree: XmlElement): string {
  const [, prefix = "", id] = /^([\w.-]+):([\w.-]+)$/.exec(name) ?? [];
  return id !== undefined && tree.prefixes.has(prefix) ? id : name;
}

/** The prefixes of the document's target namespace. */
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
 * Reads a BPMN 2.0 document with its diagrams and extensions, and writes it again: in UTF-8, uniformly formatted, without
 * default values. Malformed documents are rejected as in `readBpmn`.
 */
export async function rewriteBpmn(xml: string | Uint8Array): Promise<string> {
  const text = decodeXml(xml, XML_LIMITS.charsMax);
  const tree = readXml(text);
  const { rootElement } = await parseDocument(text, tree);
  const written = await moddle().toXML(rootElement, { format: true });
  return written.xml.replace(/<!\[CDATA\[.*?\]\]>|\r/gs, (part) => (part === "\r" ? "&#13;" : part));
}
