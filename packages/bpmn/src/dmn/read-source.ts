import { PawlError } from "pawl";
import type { Node, UnaryTests } from "../feel/ast.ts";
import { kindNamed } from "../feel/feel-types.ts";
import { isPlainName } from "../feel/names.ts";
import { parseExpression, parseUnaryTests } from "../feel/parser.ts";
import { quoteExcerpt } from "../feel/scanner.ts";
import { unknownCalls } from "../feel/unknown-calls.ts";
import type { FeelType } from "../feel/value.ts";
import type { XmlElement } from "../xml/xml-element.ts";
import type { DecisionProblem, Requirement } from "./decision-model.ts";

/** The namespaces of DMN 1.1 to 1.5 differ only in a date. */
const DMN_NAMESPACE = /^https?:\/\/www\.omg\.org\/spec\/DMN\/\d+\/(?:MODEL\/|dmn\.xsd)?$/;
const FEEL_NAMESPACE = /^https?:\/\/www\.omg\.org\/spec\/(?:DMN\/\d+\/)?FEEL\//i;

/** Number types of Camunda 7, which FEEL does not have. */
const NUMBER_TYPES = new Set(["integer", "long", "double"]);

/** Reads one document: resolves its names, types and references, and collects its problems. */
export class SourceReader {
  readonly root: XmlElement;
  readonly namespace: string;
  readonly names: readonly string[];
  /** All names that the documents declare. A call of another name that is not built in cannot succeed. */
  readonly #declared: ReadonlySet<string>;
  readonly #items: ReadonlySet<string>;
  readonly problems: DecisionProblem[];
  /** Namespaces of imported models, by import name. */
  readonly imports: ReadonlyMap<string, string>;

  constructor(root: XmlElement, names: ReadonlySet<string>, problems: DecisionProblem[]) {
    this.root = root;
    this.#declared = names;
    this.#items = new Set(childrenOf(root, "itemDefinition").map((item) => item.attributes.get("name") ?? ""));
    this.names = [...names].filter((name) => !isPlainName(name));
    this.problems = problems;
    this.namespace = root.attributes.get("namespace") ?? "";
    this.imports = new Map(
      childrenOf(root, "import").map((found) => [
        found.attributes.get("name") ?? "",
        found.attributes.get("namespace") ?? "",
      ]),
    );
  }

  problem(element: XmlElement, text: string): void {
    this.problems.push({ element: labelOf(element), line: element.line, text });
  }

  /** Parses an expression. One that is not valid becomes a problem and evaluates to null. */
  expression(element: XmlElement, text: string): Node {
    return this.#read(element, text, (names) => parseExpression(text, names)) ?? unreadable(text);
  }

  unaryTests(element: XmlElement, text: string): UnaryTests {
    const nothing: UnaryTests = { kind: "tests", negated: false, tests: [] };
    return this.#read(element, text, (names) => parseUnaryTests(text, names)) ?? nothing;
  }

  #read<T extends Node | UnaryTests>(
    element: XmlElement,
    text: string,
    read: (names: readonly string[]) => T,
  ): T | null {
    try {
      const tree = read(this.names);
      for (const name of unknownCalls(tree, this.#declared)) {
        this.problem(
          element,
          `expression ${quoteExcerpt(text)} calls ${name}, which is not a function; correct the name`,
        );
      }
      return tree;
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      this.problem(element, error.message);
      return null;
    }
  }

  requirement(element: XmlElement): Requirement | null {
    const href = element.attributes.get("href") ?? "";
    const hash = href.indexOf("#");
    if (hash === -1) {
      this.problem(element, `reference ${JSON.stringify(href)} must contain # and an element id`);
      return null;
    }
    const namespace = hash === 0 ? this.namespace : href.slice(0, hash);
    const key = `${namespace}#${href.slice(hash + 1)}`;
    if (namespace === this.namespace) return { key, importName: null };
    const found = [...this.imports].find(([, imported]) => imported === namespace);
    if (found === undefined) this.problem(element, `model ${namespace} is not imported`);
    return { key, importName: found?.[0] ?? null };
  }

  /** Resolves a type name of this model. */
  type(element: XmlElement, text: string | undefined): FeelType | null {
    const name = text?.trim();
    if (name === undefined || name === "") return null;
    const colon = name.indexOf(":");
    const namespace = colon === -1 ? undefined : element.prefixes.get(name.slice(0, colon));
    if (namespace === undefined) return this.#named(name, element);
    const local = name.slice(colon + 1);
    if (FEEL_NAMESPACE.test(namespace) || namespace === this.namespace) return this.#named(local, element);
    const found = [...this.imports].find(([, imported]) => imported === namespace);
    return this.#named(found === undefined ? local : `${found[0]}.${local}`, element);
  }

  /** Qualifies the name by this model's namespace, because each model has its own import names. */
  #named(name: string, element: XmlElement): FeelType {
    if (name === "Any" || kindNamed(name) !== null) return { kind: "name", name };
    if (!this.#items.has(name) && this.imports.size === 0) {
      if (NUMBER_TYPES.has(name)) return { kind: "name", name: "number" };
      this.problem(element, `type ${name} is not defined; add an itemDefinition, or use a type of FEEL`);
    }
    return { kind: "name", name: `${this.namespace}#${name}` };
  }
}

function unreadable(text: string): Node {
  const warning = `expression ${JSON.stringify(text.slice(0, 80))} is not valid`;
  return { kind: "boxed", evaluate: (_, run) => run.warn(warning) };
}

export function labelOf(element: XmlElement): string {
  return element.attributes.get("id") ?? element.attributes.get("name") ?? element.name;
}

export function childrenOf(element: XmlElement, ...names: readonly string[]): readonly XmlElement[] {
  return element.children.filter((child) => names.includes(child.name) && isDmn(child));
}

export function childOf(element: XmlElement, ...names: readonly string[]): XmlElement | undefined {
  return element.children.find((child) => names.includes(child.name) && isDmn(child));
}

/** The content of the `<text>` child. */
export function textIn(element: XmlElement | undefined): string | undefined {
  const text = element === undefined ? undefined : childOf(element, "text");
  return text?.text;
}

export function isDmn(element: XmlElement): boolean {
  return DMN_NAMESPACE.test(element.namespace);
}
