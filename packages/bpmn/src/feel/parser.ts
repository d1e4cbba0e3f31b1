import { PawlError } from "pawl";
import type { BinaryOperator, CompareOperator, Node, Test, UnaryTests } from "./ast.ts";
import { BUILTIN_NAMES, Names } from "./names.ts";
import { bindings, call, conditional, contextLiteral, functionDefinition, temporalLiteral } from "./parse-forms.ts";
import { parseType } from "./parse-type.ts";
import { quoteExcerpt, Scanner } from "./scanner.ts";

const DEPTH_MAX = 200;
const CONSTANTS = [
  ["null", null],
  ["true", true],
  ["false", false],
] as const;
const BUILTIN = new Names(BUILTIN_NAMES);
const COMPARISON = /<=|>=|!=|<|>|=/y;

/** Parses one expression. `known` contains the names in scope that are not plain words. */
export function parseExpression(text: string, known: Iterable<string> = []): Node {
  const parser = new Parser(text, known);
  const node = parser.expression();
  parser.end();
  return node;
}

/** Parses the unary tests of a decision table cell or of allowed values. */
export function parseUnaryTests(text: string, known: Iterable<string> = []): UnaryTests {
  const parser = new Parser(text, known);
  const tests = parser.unaryTests();
  parser.end();
  return tests;
}

/** Recursive descent parser: one method per operator precedence, weakest first. */
class Parser {
  readonly scan: Scanner;
  readonly names: Names;
  #depth = 0;
  /** True while parsing the end of a range, where `[` may close the range. */
  #mayClose = false;
  /** Whether `?` occurred since this was set to false. */
  #sawValue = false;

  constructor(text: string, known: Iterable<string>) {
    this.scan = new Scanner(text);
    this.names = new Names(known, BUILTIN);
  }

  end(): void {
    if (!this.scan.done) throw this.scan.syntaxError("unexpected text");
  }

  unaryTests(): UnaryTests {
    const scan = this.scan;
    if (scan.done) return { kind: "any" };
    if (scan.isNext("-")) {
      const at = scan.at;
      scan.take("-");
      if (scan.done) return { kind: "any" };
      scan.at = at;
    }
    const at = scan.at;
    if (scan.takeWord("not") && scan.take("(")) {
      const tests = this.#tests();
      if (scan.take(")") && scan.done) return { kind: "tests", negated: true, tests };
    }
    scan.at = at;
    return { kind: "tests", negated: false, tests: this.#tests() };
  }

  #tests(): readonly Test[] {
    const tests = [this.#test("expression")];
    while (this.scan.take(",")) tests.push(this.#test("expression"));
    return tests;
  }

  #test(level: "expression" | "sum"): Test {
    const op = this.scan.match(COMPARISON)?.[0] as CompareOperator | undefined;
    if (op !== undefined) return { kind: "compare", op, value: this.#sum() };
    const before = this.#sawValue;
    this.#sawValue = false;
    const value = level === "expression" ? this.expression() : this.#sum();
    const readsValue = this.#sawValue;
    this.#sawValue = before || readsValue;
    return { kind: "expression", value, readsValue };
  }

  expression(): Node {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) {
      const { text } = this.scan;
      throw new PawlError(
        "EXPRESSION_LIMIT",
        `expression ${quoteExcerpt(text)} is nested deeper than ${DEPTH_MAX}; split it`,
      );
    }
    const node = this.#or();
    this.#depth -= 1;
    return node;
  }

  #or(): Node {
    let left = this.#and();
    while (this.scan.takeWord("or")) left = binary("or", left, this.#and());
    return left;
  }

  #and(): Node {
    let left = this.#comparison();
    while (this.scan.takeWord("and")) left = binary("and", left, this.#comparison());
    return left;
  }

  #comparison(): Node {
    const scan = this.scan;
    let left = this.#sum();
    for (;;) {
      const op = scan.match(COMPARISON)?.[0] as CompareOperator | undefined;
      if (op !== undefined) left = binary(op, left, this.#sum());
      else if (scan.takeWord("between")) {
        const low = this.#sum();
        scan.expectWord("and");
        left = { kind: "between", value: left, low, high: this.#sum() };
      } else if (scan.takeWord("in")) left = { kind: "in", value: left, tests: this.#inTests() };
      else return left;
    }
  }

  /** `in (a, b)` is a list of tests; `in (1..5)` is one range. */
  #inTests(): readonly Test[] {
    const scan = this.scan;
    const at = scan.at;
    if (scan.take("(")) {
      const tests = this.#attempt(() => {
        const found = this.#tests();
        scan.expect(")");
        return found;
      });
      if (tests !== null) return tests;
      scan.at = at;
    }
    return [this.#test("sum")];
  }

  #attempt<T>(read: () => T): T | null {
    const depth = this.#depth;
    try {
      return read();
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== "EXPRESSION_INVALID") throw error;
      this.#depth = depth;
      return null;
    }
  }

  #sum(): Node {
    let left = this.#product();
    for (;;) {
      if (this.scan.take("+")) left = binary("+", left, this.#product());
      else if (this.scan.take("-")) left = binary("-", left, this.#product());
      else return left;
    }
  }

  #product(): Node {
    let left = this.#power();
    for (;;) {
      if (this.scan.isNext("**")) return left;
      if (this.scan.take("*")) left = binary("*", left, this.#power());
      else if (this.scan.take("/")) left = binary("/", left, this.#power());
      else return left;
    }
  }

  #power(): Node {
    let left = this.#negation();
    while (this.scan.take("**")) left = binary("**", left, this.#negation());
    return left;
  }

  #negation(): Node {
    let signs = 0;
    while (this.scan.take("-")) signs += 1;
    if (signs > DEPTH_MAX) throw this.scan.syntaxError("too many minus signs");
    let node = this.#instance();
    for (; signs > 0; signs -= 1) node = { kind: "negate", value: node };
    return node;
  }

  #instance(): Node {
    let node = this.#postfix();
    while (this.scan.takeWord("instance")) {
      this.scan.expectWord("of");
      node = { kind: "instance", value: node, type: parseType(this.scan, this.names) };
    }
    return node;
  }

  #postfix(): Node {
    const scan = this.scan;
    let node = this.#primary();
    for (;;) {
      if (scan.isNext("(")) node = call(this, node);
      else if (scan.isNext(".") && !scan.isNext("..")) {
        scan.take(".");
        node = { kind: "path", from: node, name: this.#nameHere() };
      } else if (scan.isNext("[")) {
        const filtered = this.#filter(node);
        if (filtered === null) return node;
        node = filtered;
      } else return node;
    }
  }

  #filter(from: Node): Node | null {
    const scan = this.scan;
    const at = scan.at;
    const read = (): Node => {
      scan.expect("[");
      const test = this.expression();
      scan.expect("]");
      return { kind: "filter", from, test };
    };
    if (!this.#mayClose) return read();
    const found = this.#attempt(read);
    if (found === null) scan.at = at;
    return found;
  }

  until<T>(close: string, read: () => T): readonly T[] {
    const items = [read()];
    while (this.scan.take(",")) items.push(read());
    this.scan.expect(close);
    return items;
  }

  #nameHere(): string {
    const name = this.scan.name(this.names);
    if (name === null) throw this.scan.syntaxError("expected a name");
    return name;
  }

  #primary(): Node {
    const scan = this.scan;
    const string = scan.string();
    if (string !== null) return { kind: "literal", value: string };
    const number = scan.isNext("..") ? null : scan.number();
    if (number !== null) return { kind: "literal", value: Number.isFinite(number) ? number : null };
    if (scan.isNext("@")) return temporalLiteral(this);
    if (scan.take("[")) return this.#listOrRange();
    if (scan.take("]")) return this.#rangeFrom(this.#sum(), false);
    if (scan.take("(")) return this.#parenthesis();
    if (scan.take("{")) return contextLiteral(this);
    return this.#word();
  }

  #listOrRange(): Node {
    if (this.scan.take("]")) return { kind: "list", items: [] };
    const mayClose = this.#mayClose;
    this.#mayClose = false;
    const first = this.expression();
    this.#mayClose = mayClose;
    if (this.scan.isNext("..")) return this.#rangeFrom(first, true);
    if (this.scan.take(",")) return { kind: "list", items: [first, ...this.until("]", () => this.expression())] };
    this.scan.expect("]");
    return { kind: "list", items: [first] };
  }

  #rangeFrom(start: Node, startIncluded: boolean): Node {
    this.scan.expect("..");
    const mayClose = this.#mayClose;
    this.#mayClose = true;
    const end = this.#sum();
    this.#mayClose = mayClose;
    const close = [")", "]", "["].find((sign) => this.scan.take(sign));
    if (close === undefined) throw this.scan.syntaxError("unclosed range");
    return { kind: "range", start, startIncluded, end, endIncluded: close === "]" };
  }

  #parenthesis(): Node {
    const scan = this.scan;
    const op = scan.match(COMPARISON)?.[0] as CompareOperator | undefined;
    if (op !== undefined) {
      const value = this.#sum();
      scan.expect(")");
      return { kind: "half range", op, value };
    }
    const mayClose = this.#mayClose;
    this.#mayClose = false;
    const node = this.expression();
    this.#mayClose = mayClose;
    if (scan.isNext("..")) return this.#rangeFrom(node, false);
    scan.expect(")");
    return node;
  }

  #word(): Node {
    const scan = this.scan;
    for (const [word, value] of CONSTANTS) if (scan.takeWord(word)) return { kind: "literal", value };
    if (scan.takeWord("if")) return conditional(this);
    if (scan.takeWord("for")) return { kind: "for", bindings: bindings(this, "return"), body: this.expression() };
    for (const kind of ["some", "every"] as const) {
      if (scan.takeWord(kind)) return { kind, bindings: bindings(this, "satisfies"), body: this.expression() };
    }
    if (scan.isWord("function")) return functionDefinition(this);
    const name = this.#nameHere();
    if (name === "?") this.#sawValue = true;
    return { kind: "name", name };
  }
}

function binary(op: BinaryOperator, left: Node, right: Node): Node {
  return { kind: "binary", op, left, right };
}
