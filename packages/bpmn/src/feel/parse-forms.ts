import type { Binding, Node } from "./ast.ts";
import { type Names, normalName } from "./names.ts";
import { parseType } from "./parse-type.ts";
import type { Scanner } from "./scanner.ts";
import { temporal } from "./temporal-text.ts";
import type { FeelParameter } from "./value.ts";

/** Parsers of expressions with keywords or brackets: calls, contexts, conditions, loops, functions and temporal literals. */

const ARGUMENT_NAME = /([\p{L}_?][\p{L}\p{N}\p{M}_?' -]*?)\s*:/uy;
const KEY = /[^"{}[\](),:]+/y;
const BOUND_NAME = /([^,()[\]{}":]+?)\s+in(?![\p{L}\p{N}_])/uy;
const PARAMETER = /[^,():"]+/y;

/** The part of the parser used here. */
interface Grammar {
  readonly scan: Scanner;
  readonly names: Names;
  expression(): Node;
  until<T>(close: string, read: () => T): readonly T[];
}

export function call(grammar: Grammar, callee: Node): Node {
  const scan = grammar.scan;
  scan.expect("(");
  if (scan.take(")")) return { kind: "call", callee, args: [] };
  const at = scan.at;
  const isNamed = scan.match(ARGUMENT_NAME) !== null;
  scan.at = at;
  if (!isNamed) return { kind: "call", callee, args: grammar.until(")", () => grammar.expression()) };
  const args = grammar.until(")", () => {
    const name = scan.match(ARGUMENT_NAME)?.[1];
    if (name === undefined) throw scan.syntaxError("expected an argument name");
    return { name: normalName(name), value: grammar.expression() };
  });
  return { kind: "named call", callee, args };
}

/** Parses a context after its opening brace. */
export function contextLiteral(grammar: Grammar): Node {
  const scan = grammar.scan;
  if (scan.take("}")) return { kind: "context", entries: [] };
  const entries = grammar.until("}", () => {
    const name = scan.string() ?? normalName(scan.match(KEY)?.[0] ?? "");
    scan.expect(":");
    const value = grammar.expression();
    grammar.names.add(name);
    return { name, value };
  });
  return { kind: "context", entries };
}

export function conditional(grammar: Grammar): Node {
  const test = grammar.expression();
  grammar.scan.expectWord("then");
  const yes = grammar.expression();
  grammar.scan.expectWord("else");
  return { kind: "if", test, yes, no: grammar.expression() };
}

export function bindings(grammar: Grammar, closing: string): readonly Binding[] {
  const scan = grammar.scan;
  const found: Binding[] = [];
  do {
    const name = scan.match(BOUND_NAME)?.[1];
    if (name === undefined) throw scan.syntaxError("expected a variable and “in”");
    const from = grammar.expression();
    const to = scan.take("..") ? grammar.expression() : null;
    grammar.names.add(name);
    found.push({ name: normalName(name), from, to });
  } while (scan.take(","));
  scan.expectWord(closing);
  return found;
}

export function functionDefinition(grammar: Grammar): Node {
  const scan = grammar.scan;
  scan.expectWord("function");
  scan.expect("(");
  const parameters = scan.take(")") ? [] : grammar.until(")", () => parameter(grammar));
  if (!scan.takeWord("external")) return { kind: "function", parameters, body: grammar.expression() };
  grammar.expression();
  return { kind: "function", parameters, body: null };
}

function parameter(grammar: Grammar): FeelParameter {
  const name = normalName(grammar.scan.match(PARAMETER)?.[0] ?? "");
  if (name === "") throw grammar.scan.syntaxError("expected a parameter name");
  grammar.names.add(name);
  return { name, type: grammar.scan.take(":") ? parseType(grammar.scan, grammar.names) : null };
}

export function temporalLiteral({ scan }: Grammar): Node {
  scan.expect("@");
  const text = scan.string();
  const value = text === null ? null : temporal(text);
  if (value === null) throw scan.syntaxError("no date, time or duration after @");
  return { kind: "literal", value };
}
