import { decodeXml } from "./decode-xml.ts";
import { XML_LIMITS, type XmlElement, type XmlLimits } from "./xml-element.ts";
import { malformed, tooLarge } from "./xml-error.ts";

const NO_PREFIXES: ReadonlyMap<string, string> = new Map([["xml", "http://www.w3.org/XML/1998/namespace"]]);
const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
const NAME = /[\p{L}_:][\p{L}\p{N}\p{M}_:.\-·]*/uy;
const SPACE = /[ \t\r\n]*/y;

interface Open extends XmlElement {
  readonly written: string;
  readonly attributes: Map<string, string>;
  readonly children: XmlElement[];
  text: string;
}

/**
 * Reads a document that may come from anybody: no document type, no entities but the five of the standard, nothing from
 * elsewhere, and bounds on everything. It goes through the text once, with a stack of its own, so that neither time nor
 * memory can grow beyond a small multiple of the text's.
 */
export function readXml(source: string | Uint8Array, limits: Partial<XmlLimits> = {}): XmlElement {
  return new XmlReader(source, { ...XML_LIMITS, ...limits }).read();
}

class XmlReader {
  readonly #text: string;
  readonly #limits: XmlLimits;
  readonly #open: Open[] = [];
  #at = 0;
  #line = 0;
  #lineEnd = -1;
  #elements = 0;
  #references = 0;
  #declarations = 0;
  #root: Open | null = null;

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
    if (unclosed !== undefined) throw this.#flaw(`<${unclosed.written}> of line ${unclosed.line} is not closed`);
    if (this.#root === null) throw this.#flaw("there is no element");
    return this.#root;
  }

  #characters(end: number): void {
    if (end === this.#at) return;
    const raw = this.#text.slice(this.#at, end);
    const parent = this.#open.at(-1);
    if (parent !== undefined) parent.text += this.#resolved(raw);
    else if (/[^ \t\r\n]/.test(raw)) throw this.#flaw("there is text outside of the root element");
    this.#at = end;
  }

  #markup(): void {
    const text = this.#text;
    const at = this.#at;
    if (text.startsWith("<!--", at)) this.#skipPast("-->", at + 4);
    else if (text.startsWith("<![CDATA[", at)) this.#characterData();
    else if (text.startsWith("<?", at)) this.#skipPast("?>", at + 2);
    else if (text.startsWith("<!", at)) throw this.#flaw("document types and entities are refused; remove them");
    else if (text.startsWith("</", at)) this.#endTag();
    else this.#startTag();
  }

  #skipPast(mark: string, from: number): void {
    const end = this.#text.indexOf(mark, from);
    if (end === -1) throw this.#flaw(`there is no ${mark} to what begins here`);
    this.#at = end + mark.length;
  }

  #characterData(): void {
    const start = this.#at + "<![CDATA[".length;
    const parent = this.#open.at(-1);
    if (parent === undefined) throw this.#flaw("there is text outside of the root element");
    this.#skipPast("]]>", start);
    parent.text += this.#text.slice(start, this.#at - "]]>".length);
  }

  #endTag(): void {
    this.#at += 2;
    const name = this.#name();
    this.#space();
    this.#expect(">");
    const element = this.#open.pop();
    if (element?.written !== name) throw this.#flaw(`</${name}> closes nothing that is open`);
  }

  #startTag(): void {
    const { depthMax, elementsMax } = this.#limits;
    const line = this.#lineHere();
    this.#at += 1;
    const written = this.#name();
    if (this.#open.length >= depthMax) throw tooLarge("elements inside each other", depthMax);
    this.#elements += 1;
    if (this.#elements > elementsMax) throw tooLarge("elements", elementsMax);
    const parent = this.#open.at(-1);
    if (parent === undefined && this.#root !== null) throw this.#flaw(`<${written}> is a second root element`);
    const attributes = this.#attributes();
    const prefixes = this.#withDeclared(parent?.prefixes ?? NO_PREFIXES, attributes);
    const { name, namespace } = this.#qualified(written, prefixes);
    const element: Open = { written, name, namespace, attributes, prefixes, children: [], text: "", line };
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
      if (before === this.#at) throw this.#flaw("a space is missing before an attribute");
      const name = this.#name();
      this.#space();
      this.#expect("=");
      this.#space();
      if (found.has(name)) throw this.#flaw(`the attribute ${name} is there twice`);
      found.set(name, this.#value(name));
      if (found.size > this.#limits.attributesMax)
        throw tooLarge("attributes of one element", this.#limits.attributesMax);
    }
  }

  #value(name: string): string {
    const quote = this.#text[this.#at];
    if (quote !== '"' && quote !== "'") throw this.#flaw(`the value of ${name} is not in quotes`);
    const start = this.#at + 1;
    this.#skipPast(quote, start);
    const raw = this.#text.slice(start, this.#at - 1);
    const max = this.#limits.attributeCharsMax;
    if (raw.length > max) throw tooLarge(`characters in the attribute ${name}`, max);
    if (raw.includes("<")) throw this.#flaw(`the value of ${name} holds <`);
    return this.#resolved(raw.replace(/[\t\r\n]/g, " "));
  }

  #resolved(raw: string): string {
    if (!raw.includes("&")) return raw;
    return raw.replace(/&([^;&\s]{0,32};?)/g, (_, body: string) => {
      this.#references += 1;
      if (this.#references > this.#limits.referencesMax) throw tooLarge("references", this.#limits.referencesMax);
      const character = body.endsWith(";") ? referenced(body.slice(0, -1)) : null;
      if (character === null) throw this.#flaw(`&${body} is not a character; write &amp; for &`);
      return character;
    });
  }

  #qualified(written: string, prefixes: ReadonlyMap<string, string>): { name: string; namespace: string } {
    const colon = written.indexOf(":");
    if (colon === -1) return { name: written, namespace: prefixes.get("") ?? "" };
    const namespace = prefixes.get(written.slice(0, colon));
    if (namespace === undefined) throw this.#flaw(`the prefix of <${written}> is not declared`);
    return { name: written.slice(colon + 1), namespace };
  }

  /** Takes declarations of namespaces out of the attributes; without any, the parent's map serves on. */
  #withDeclared(inherited: ReadonlyMap<string, string>, attributes: Map<string, string>): ReadonlyMap<string, string> {
    const declared = [...attributes].filter(([name]) => name === "xmlns" || name.startsWith("xmlns:"));
    if (declared.length === 0) return inherited;
    // Each map repeats what it inherits: that is what is counted, or few characters could ask for much memory.
    this.#declarations += inherited.size + declared.length;
    const max = this.#limits.referencesMax;
    if (this.#declarations > max) throw tooLarge("namespaces in force", max);
    for (const [name] of declared) attributes.delete(name);
    return new Map([...inherited, ...declared.map(([name, value]) => [name.slice("xmlns:".length), value] as const)]);
  }

  #name(): string {
    NAME.lastIndex = this.#at;
    const found = NAME.exec(this.#text)?.[0];
    if (found === undefined) throw this.#flaw("a name is missing");
    this.#at += found.length;
    return found;
  }

  #space(): void {
    SPACE.lastIndex = this.#at;
    this.#at += SPACE.exec(this.#text)?.[0].length ?? 0;
  }

  #expect(mark: string): void {
    if (this.#text[this.#at] !== mark) throw this.#flaw(`${mark} is missing`);
    this.#at += 1;
  }

  /** Counts on from the last time and remembers where the line ends, so that all lines together cost one pass. */
  #lineHere(): number {
    while (this.#lineEnd < this.#at) {
      const next = this.#text.indexOf("\n", this.#lineEnd + 1);
      this.#line += 1;
      this.#lineEnd = next === -1 ? this.#text.length : next;
    }
    return this.#line;
  }

  #flaw(flaw: string): Error {
    return malformed(this.#lineHere(), flaw);
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
