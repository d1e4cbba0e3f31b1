import type { Node, UnaryTests } from "./ast.ts";
import { Parser } from "./parser.ts";

/** Reads one expression. `known` are names in scope that are not plain words. */
export function parseExpression(text: string, known: Iterable<string> = []): Node {
  const parser = new Parser(text, known);
  const node = parser.expression();
  parser.end();
  return node;
}

/** Reads what stands in a cell of a decision table, or in allowed values. */
export function parseUnaryTests(text: string, known: Iterable<string> = []): UnaryTests {
  const parser = new Parser(text, known);
  const tests = parser.unaryTests();
  parser.end();
  return tests;
}
