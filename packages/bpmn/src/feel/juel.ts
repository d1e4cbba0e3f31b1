import { PawlError } from "pawl";
import type { BinaryOperator, Node } from "./ast.ts";
import { evaluate } from "./evaluate.ts";
import { JUEL_FUNCTIONS, JUEL_METHODS } from "./juel-functions.ts";
import { quoteExcerpt } from "./scanner.ts";

/**
 * Parses JUEL expressions, which many models contain: `${amount > 100 && status == 'open'}`. Calls of functions and methods outside
 * of a closed list, and assignments, are rejected: they need Java objects of another engine.
 */

const TOKEN =
  /\s*(?:(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([A-Za-z_]\w*)|(&&|\|\||==|!=|<=|>=|[-+*/%<>!?:()[\].,]))/y;
const WORDS: Readonly<Record<string, string>> = {
  and: "&&",
  or: "||",
  not: "!",
  eq: "==",
  ne: "!=",
  lt: "<",
  gt: ">",
  le: "<=",
  ge: ">=",
  div: "/",
  mod: "%",
};
/** Operators by precedence, weakest first. */
const LEVELS: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["==", "!="],
  ["<", "<=", ">", ">="],
  ["+", "-"],
  ["*", "/", "%"],
];
const OPERATORS: Readonly<Record<string, BinaryOperator>> = {
  "||": "or",
  "&&": "and",
  "==": "=",
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
  "+": "+",
  "-": "-",
  "*": "*",
  "/": "/",
};
const CONSTANTS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };
const DEPTH_MAX = 100;

type Token =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "name"; readonly value: string }
  | { readonly kind: "sign"; readonly value: string };

const EMBEDDED = /[$#]\{((?:[^'"}]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*)\}/g;

/** Rewrites text with expressions inside, such as `order-${id}`, as one expression. Null if it has none inside. */
export function juelTemplate(text: string): string | null {
  const parts: string[] = [];
  let at = 0;
  for (const found of text.matchAll(EMBEDDED)) {
    if (found.index > at) parts.push(quoted(text.slice(at, found.index)));
    parts.push(found[1]?.trim() === "" ? "''" : (found[1] ?? "''"));
    at = found.index + found[0].length;
  }
  if (parts.length === 0 || (parts.length === 1 && at === text.length)) return null;
  if (at < text.length) parts.push(quoted(text.slice(at)));
  return `\${concat(${parts.join(", ")})}`;
}

/** The inside of the JUEL expression with the value of a text: a quoted text, or what is in its braces. */
export function juelInside(text: string): string {
  const trimmed = text.trim();
  const whole = juelTemplate(trimmed) ?? trimmed;
  return isJuel(whole) ? whole.slice(2, -1).trim() : quoted(trimmed);
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}

/** Whether the text begins like a JUEL expression. */
export function isJuel(text: string): boolean {
  return /^\s*[$#]\{/.test(text);
}

export function parseJuel(text: string): Node {
  const body = /^\s*[$#]\{([\s\S]*)\}\s*$/.exec(text)?.[1];
  if (body === undefined || /[$#]\{/.test(body.replace(/'[^']*'|"[^"]*"/g, "")))
    throw unsupported(text, "text around an expression is not supported");
  const reader = new JuelReader(text, tokensOf(text, body));
  const node = reader.expression();
  reader.end();
  return node;
}

function unsupported(text: string, reason: string): PawlError {
  return new PawlError(
    "EXPRESSION_INVALID",
    `expression ${quoteExcerpt(text)} is not supported: ${reason}; write it in FEEL`,
  );
}

function unknownCall(text: string, name: string): PawlError {
  const functions = [...JUEL_FUNCTIONS.keys()].map((each) => `${each}()`);
  const methods = [...JUEL_METHODS.keys()].map((each) => `.${each}()`);
  const known = [...functions, ...methods].join(" ");
  return unsupported(text, `${name === "" ? "the call" : `${name}()`} is not one of ${known}`);
}

function tokensOf(text: string, body: string): readonly Token[] {
  const tokens: Token[] = [];
  const end = body.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(body);
    if (found === null) throw unsupported(text, `unexpected “${body.slice(at, at + 20).trim()}”`);
    const [, number, single, double, word, sign] = found;
    const quoted = single ?? double;
    if (number !== undefined) tokens.push({ kind: "number", value: Number(number) });
    else if (quoted !== undefined) tokens.push({ kind: "text", value: quoted.replace(/\\(.)/g, "$1") });
    else if (word === undefined) tokens.push({ kind: "sign", value: sign ?? "" });
    else if (Object.hasOwn(WORDS, word)) tokens.push({ kind: "sign", value: WORDS[word] ?? "" });
    else tokens.push({ kind: "name", value: word });
  }
  return tokens;
}

class JuelReader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text;
    this.#tokens = tokens;
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw this.#syntaxError();
  }

  #syntaxError(): PawlError {
    const token = this.#tokens[this.#at];
    return unsupported(this.#text, token === undefined ? "unexpected end" : `unexpected “${token.value}”`);
  }

  #sign(): string | null {
    const token = this.#tokens[this.#at];
    return token?.kind === "sign" ? token.value : null;
  }

  #take(sign: string): boolean {
    if (this.#sign() !== sign) return false;
    this.#at += 1;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw this.#syntaxError();
  }

  expression(): Node {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw unsupported(this.#text, "nested too deeply");
    const test = this.#level(0);
    this.#depth -= 1;
    if (!this.#take("?")) return test;
    const yes = this.expression();
    this.#expect(":");
    return { kind: "if", test, yes, no: this.expression() };
  }

  #level(index: number): Node {
    const signs = LEVELS[index];
    if (signs === undefined) return this.#unary();
    let left = this.#level(index + 1);
    for (let sign = this.#sign(); sign !== null && signs.includes(sign); sign = this.#sign()) {
      this.#at += 1;
      left = joined(sign, left, this.#level(index + 1));
    }
    return left;
  }

  #unary(): Node {
    if (this.#take("!")) return opposite(this.#unary());
    if (this.#take("-")) return { kind: "negate", value: this.#unary() };
    const token = this.#tokens[this.#at];
    if (token?.kind !== "name" || token.value !== "empty") return this.#path();
    this.#at += 1;
    return emptiness(this.#unary());
  }

  #path(): Node {
    let node = this.#primary();
    for (;;) {
      if (this.#take(".")) {
        const token = this.#tokens[this.#at];
        if (token?.kind !== "name") throw this.#syntaxError();
        this.#at += 1;
        node = { kind: "path", from: node, name: token.value };
      } else if (this.#take("[")) {
        const inner = this.expression();
        this.#expect("]");
        node = indexed(node, inner);
      } else if (this.#sign() === "(") node = this.#call(node);
      else return node;
    }
  }

  /** Calls a function or a method of the closed list. */
  #call(callee: Node): Node {
    const own = callee.kind === "path" && callee.from.kind === "name" ? `${callee.from.name}.${callee.name}` : "";
    const name = callee.kind === "name" || callee.kind === "path" ? callee.name : "";
    const called = callee.kind === "path" ? JUEL_FUNCTIONS.get(own) : JUEL_FUNCTIONS.get(name);
    const method = called === undefined && callee.kind === "path" ? JUEL_METHODS.get(name) : undefined;
    const found = called ?? method;
    if (found === undefined) throw unknownCall(this.#text, own === "" ? name : own);
    const args = this.#arguments();
    const [least, most] = found.args;
    if (args.length < least || args.length > most)
      throw unsupported(this.#text, `wrong number of arguments of ${name}`);
    const all = method !== undefined && callee.kind === "path" ? [callee.from, ...args] : args;
    return {
      kind: "boxed",
      evaluate: (scope, run) =>
        found.call(
          all.map((each) => evaluate(each, scope, run)),
          { scope, run },
        ),
    };
  }

  #arguments(): readonly Node[] {
    this.#expect("(");
    if (this.#take(")")) return [];
    const args = [this.expression()];
    while (this.#take(",")) args.push(this.expression());
    this.#expect(")");
    return args;
  }

  #primary(): Node {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw this.#syntaxError();
    if (this.#take("(")) {
      const node = this.expression();
      this.#expect(")");
      return node;
    }
    if (token.kind === "sign") throw this.#syntaxError();
    this.#at += 1;
    if (token.kind !== "name") return { kind: "literal", value: token.value };
    if (Object.hasOwn(CONSTANTS, token.value)) return { kind: "literal", value: CONSTANTS[token.value] ?? null };
    return { kind: "name", name: token.value };
  }
}

function call(name: string, ...args: readonly Node[]): Node {
  return { kind: "call", callee: { kind: "name", name }, args };
}

/** JUEL has two-valued logic: an unknown value counts as false. */
function opposite(test: Node): Node {
  return { kind: "if", test, yes: { kind: "literal", value: false }, no: { kind: "literal", value: true } };
}

function joined(sign: string, left: Node, right: Node): Node {
  if (sign === "!=") return opposite({ kind: "binary", op: "=", left, right });
  const op = OPERATORS[sign];
  return op === undefined ? call("modulo", left, right) : { kind: "binary", op, left, right };
}

/** JUEL counts list items from 0, FEEL from 1. */
function indexed(from: Node, inner: Node): Node {
  if (inner.kind === "literal" && typeof inner.value === "string") return { kind: "path", from, name: inner.value };
  const one: Node = { kind: "literal", value: 1 };
  return { kind: "filter", from, test: { kind: "binary", op: "+", left: inner, right: one } };
}

function emptiness(value: Node): Node {
  const is = (other: Node): Node => ({ kind: "binary", op: "=", left: value, right: other });
  const isEmpty = [
    is({ kind: "literal", value: null }),
    is({ kind: "literal", value: "" }),
    is({ kind: "list", items: [] }),
  ];
  return opposite(opposite(isEmpty.reduce((left, right) => ({ kind: "binary", op: "or", left, right }))));
}
