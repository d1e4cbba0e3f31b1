import { kinds, optionTable, readOptions } from "pawl";
import { decodeXml } from "./decode-xml.ts";
import { XML_LIMITS, type XmlElement, type XmlLimits } from "./xml-element.ts";
import { malformed, tooLarge } from "./xml-error.ts";

const NO_PREFIXES: ReadonlyMap<string, string> = new Map([["xml", "http://www.w3.org/XML/1998/namespace"]]);
const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
const NAME = /[\p{L}_:][\p{L}\p{N}\p{M}_:.\-·]*/uy;
const SPACE = /[ \t\r\n]*/y;

interface OpenElement extends XmlElement {
  readonly written: string;
  readonly attributes: Map<string, string>;
  readonly children: XmlElement[];
  text: string;
}

/**
 * Reads an untrusted document. It accepts no document type, only the five predefined entities, and loads nothing from elsewhere;
 * every size is limited. One pass with an explicit stack keeps time and memory proportional to the text.
 */
export function readXml(source: string | Uint8Array, limits?: Partial<XmlLimits>): XmlElement {
  return new XmlReader(source, { ...XML_LIMITS, ...readOptions(LIMIT_OPTIONS, limits) }).read();
}

const LIMIT_OPTIONS = optionTable<Partial<XmlLimits>>("readXml", {
  charsMax: kinds.integer(1),
  depthMax: kinds.integer(1),
  elementsMax: kinds.integer(1),
  attributesMax: kinds.integer(0),
  attributeCharsMax: kinds.integer(0),
  referencesMax: kinds.integer(0),
});

class XmlReader {
  readonly #text: string;
  readonly #limits: XmlLimits;
  readonly #open: OpenElement[] = [];
  #at = 0;
  #line = 0;
  #lineEnd = -1;
  #elements = 0;
  #references = 0;
  #declarations = 0;
  #root: OpenElement | null = null;

  constructor(source: string | Uint8Array, limits: XmlLimits) {
    this.#text = decodeXml(source, limits.charsMax);
    this.#limits = limits;
  }

  read(): XmlElement {
    while (this.#at < this.#text.length) {
      const tag = this.#text.indexOf("<", this.#at);
      this.#characters(tag === -1 ? this.#text.length : tag);
      if (tag !== -1) this.#markup();
    }
    const unclosed = this.#open.at(-1);
    if (unclosed !== undefined) throw this.#syntaxError(`<${unclosed.written}> of line ${unclosed.line} is not closed`);
    if (this.#root === null) throw this.#syntaxError("no root element");
    return this.#root;
  }

  #characters(end: number): void {
    if (end === this.#at) return;
    const raw = this.#text.slice(this.#at, end);
    const parent = this.#open.at(-1);
    if (parent !== undefined) parent.text += this.#resolved(raw);
    else if (/[^ \t\r\n]/.test(raw)) throw this.#syntaxError("text outside the root element");
    this.#at = end;
  }

  #markup(): void {
    const text = this.#text;
    const at = this.#at;
    if (text.startsWith("<!--", at)) this.#skipPast("-->", at + 4);
    else if (text.startsWith("<![CDATA[", at)) this.#characterData();
    else if (text.startsWith("<?", at)) this.#skipPast("?>", at + 2);
    else if (text.startsWith("<!", at))
      throw this.#syntaxError("document types and entities are not allowed; remove them");
    else if (text.startsWith("</", at)) this.#endTag();
    else this.#startTag();
  }

  #skipPast(mark: string, from: number): void {
    const end = this.#text.indexOf(mark, from);
    if (end === -1) throw this.#syntaxError(`expected ${mark}`);
    this.#at = end + mark.length;
  }

  #characterData(): void {
    const start = this.#at + "<![CDATA[".length;
    const parent = this.#open.at(-1);
    if (parent === undefined) throw this.#syntaxError("text outside the root element");
    this.#skipPast("]]>", start);
    parent.text += this.#text.slice(start, this.#at - "]]>".length);
  }

  #endTag(): void {
    this.#at += 2;
    const name = this.#name();
    this.#space();
    this.#expect(">");
    const element = this.#open.pop();
    if (element?.written !== name) throw this.#syntaxError(`</${name}> does not match the open element`);
  }

  #startTag(): void {
    const { depthMax, elementsMax } = this.#limits;
    const line = this.#lineHere();
    this.#at += 1;
    const written = this.#name();
    const nameEnd = this.#at;
    if (this.#open.length >= depthMax) throw tooLarge("nested elements", depthMax);
    this.#elements += 1;
    if (this.#elements > elementsMax) throw tooLarge("elements", elementsMax);
    const parent = this.#open.at(-1);
    if (parent === undefined && this.#root !== null) throw this.#syntaxError(`<${written}> is a second root element`);
    const attributes = this.#attributes();
    const prefixes = this.#withDeclared(parent?.prefixes ?? NO_PREFIXES, attributes);
    const { name, namespace } = this.#qualified(written, prefixes);
    const start = { written, name, namespace, attributes, prefixes, line, nameEnd };
    const element: OpenElement = { ...start, children: [], text: "" };
    parent?.children.push(element);
    this.#root ??= element;
    if (this.#text[this.#at] === "/") this.#at += 1;
    else this.#open.push(element);
    this.#expect(">");
  }

  #attributes(): Map<string, string> {
    const found = new Map<string, string>();
    for (;;) {
      const before = this.#at;
      this.#space();
      const next = this.#text[this.#at];
      if (next === ">" || next === "/" || next === undefined) return found;
      if (before === this.#at) throw this.#syntaxError("expected a space before an attribute");
      const name = this.#name();
      this.#space();
      this.#expect("=");
      this.#space();
      if (found.has(name)) throw this.#syntaxError(`duplicate attribute ${name}`);
      found.set(name, this.#value(name));
      if (found.size > this.#limits.attributesMax)
        throw tooLarge("attributes of one element", this.#limits.attributesMax);
    }
  }

  #value(name: string): string {
    const quote = this.#text[this.#at];
    if (quote !== '"' && quote !== "'") throw this.#syntaxError(`value of attribute ${name} is not quoted`);
    const start = this.#at + 1;
    this.#skipPast(quote, start);
    const raw = this.#text.slice(start, this.#at - 1);
    const max = this.#limits.attributeCharsMax;
    if (raw.length > max) throw tooLarge(`characters in attribute ${name}`, max);
    if (raw.includes("<")) throw this.#syntaxError(`value of attribute ${name} contains <; write &lt;`);
    return this.#resolved(raw.replace(/[\t\r\n]/g, " "));
  }

  #resolved(raw: string): string {
    if (!raw.includes("&")) return raw;
    return raw.replace(/&([^;&\s]{0,32};?)/g, (_, body: string) => {
      this.#references += 1;
      if (this.#references > this.#limits.referencesMax) throw tooLarge("references", this.#limits.referencesMax);
      const character = body.endsWith(";") ? referenced(body.slice(0, -1)) : null;
      if (character === null) throw this.#syntaxError(`&${body} is not a valid character reference; write &amp; for &`);
      return character;
    });
  }

  #qualified(written: string, prefixes: ReadonlyMap<string, string>): { name: string; namespace: string } {
    const colon = written.indexOf(":");
    if (colon === -1) return { name: written, namespace: prefixes.get("") ?? "" };
    const namespace = prefixes.get(written.slice(0, colon));
    if (namespace === undefined) throw this.#syntaxError(`namespace prefix of <${written}> is not declared`);
    return { name: written.slice(colon + 1), namespace };
  }

  /** Moves namespace declarations from the attributes to a new map. Returns the inherited map if there are none. */
  #withDeclared(inherited: ReadonlyMap<string, string>, attributes: Map<string, string>): ReadonlyMap<string, string> {
    const declared = [...attributes].filter(([name]) => name === "xmlns" || name.startsWith("xmlns:"));
    if (declared.length === 0) return inherited;
    // Each map copies the inherited entries, so those are counted too. Otherwise a short document could use much memory.
    this.#declarations += inherited.size + declared.length;
    const max = this.#limits.referencesMax;
    if (this.#declarations > max) throw tooLarge("namespace prefixes in scope", max);
    for (const [name] of declared) attributes.delete(name);
    return new Map([...inherited, ...declared.map(([name, value]) => [name.slice("xmlns:".length), value] as const)]);
  }

  #name(): string {
    NAME.lastIndex = this.#at;
    const found = NAME.exec(this.#text)?.[0];
    if (found === undefined) throw this.#syntaxError("expected a name");
    this.#at += found.length;
    return found;
  }

  #space(): void {
    SPACE.lastIndex = this.#at;
    this.#at += SPACE.exec(this.#text)?.[0].length ?? 0;
  }

  #expect(mark: string): void {
    if (this.#text[this.#at] !== mark) throw this.#syntaxError(`expected ${mark}`);
    this.#at += 1;
  }

  /** The current line. Counting continues from the previous call, so all calls together cost one pass. */
  #lineHere(): number {
    while (this.#lineEnd < this.#at) {
      const next = this.#text.indexOf("\n", this.#lineEnd + 1);
      this.#line += 1;
      this.#lineEnd = next === -1 ? this.#text.length : next;
    }
    return this.#line;
  }

  #syntaxError(reason: string): Error {
    return malformed(this.#lineHere(), reason);
  }
}

function referenced(body: string): string | null {
  if (!body.startsWith("#")) return Object.hasOwn(NAMED, body) ? (NAMED[body] ?? null) : null;
  const digits = /^#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}))$/.exec(body);
  if (digits === null) return null;
  const code = digits[1] === undefined ? Number(digits[2]) : Number.parseInt(digits[1], 16);
  const isText = code === 9 || code === 10 || code === 13 || (code >= 32 && code <= 0x10ffff);
  return isText && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : null;
}
