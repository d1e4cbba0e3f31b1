/** An element of an XML document, with its namespace resolved. */
export interface XmlElement {
  /** Without prefix. */
  readonly name: string;
  /** The namespace's address; empty where there is none. */
  readonly namespace: string;
  /** By name as written, prefix and all; declarations of namespaces are not among them. */
  readonly attributes: ReadonlyMap<string, string>;
  /** The prefixes that were in force here, for values that are qualified names. */
  readonly prefixes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** The text directly inside, without that of children. */
  readonly text: string;
  /** Where its tag begins; the first line is 1. */
  readonly line: number;
}

/** What a document may hold at most. */
export interface XmlLimits {
  readonly charsMax: number;
  readonly depthMax: number;
  readonly elementsMax: number;
  readonly attributesMax: number;
  /** Characters of one attribute's value. */
  readonly attributeCharsMax: number;
  /** Of references to characters, and of namespaces in force. */
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
