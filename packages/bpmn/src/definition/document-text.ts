import type { XmlElement } from "../xml/xml-element.ts";

/**
 * The text as bpmn-moddle is to read it. It is decoded already: what it says of its encoding would only mislead. References may be
 * qualified names; those of this very document are made plain ids, which is all that bpmn-moddle follows.
 */
export function readable(text: string, tree: XmlElement): string {
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
