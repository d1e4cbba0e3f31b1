/** An element of an XML document, with its namespace resolved. */
export interface XmlElement {
  /** The local name, without prefix. */
  readonly name: string;
  /** The namespace URI. Empty if there is none. */
  readonly namespace: string;
  /** Attributes by name as written, including the prefix. Namespace declarations are not included. */
  readonly attributes: ReadonlyMap<string, string>;
  /** The namespace prefixes in scope, for values that are qualified names. */
  readonly prefixes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** The text directly inside, without the text of children. */
  readonly text: string;
  /** The line of its start tag, from 1. */
  readonly line: number;
  /** The offset in the text after the name in its start tag. */
  readonly nameEnd: number;
}

/** Limits of one document. */
export interface XmlLimits {
  readonly charsMax: number;
  readonly depthMax: number;
  readonly elementsMax: number;
  readonly attributesMax: number;
  /** Characters of one attribute's value. */
  readonly attributeCharsMax: number;
  /** Maximum of character references, and of namespace prefixes summed over elements that declare one. */
  readonly referencesMax: number;
}

export const XML_LIMITS: XmlLimits = {
  charsMax: 10 * 1024 * 1024,
  depthMax: 256,
  elementsMax: 100_000,
  attributesMax: 256,
  attributeCharsMax: 1_000_000,
  referencesMax: 1_000_000,
};
