import type { Node, UnaryTests } from "./ast.ts";
import { evaluate } from "./evaluate.ts";
import { Evaluation, FEEL_BUDGET, type FeelBudget, type FeelWorld, inside } from "./evaluation.ts";
import { type Json, toJson } from "./json.ts";
import { isJuel, parseJuel } from "./juel.ts";
import { knownIn } from "./known-names.ts";
import { parseExpression, parseUnaryTests } from "./parser.ts";
import { meetsAll } from "./unary-tests.ts";
import type { FeelContext, FeelValue } from "./value.ts";

export interface FeelOptions {
  readonly budget?: Partial<FeelBudget>;
  readonly world?: FeelWorld;
}

export interface FeelResult {
  /** Dates, times and durations as text; null where the expression has no value. */
  readonly value: Json;
  /** Why something was null. */
  readonly warnings: readonly string[];
}

const CACHE_MAX = 5_000;
const cache = new Map<string, Node | UnaryTests>();

/** What was read is kept, by text and by the names that it was read with; the oldest goes when there are too many. */
function cached<T extends Node | UnaryTests>(key: string, read: () => T): T {
  const known = cache.get(key);
  if (known !== undefined) return known as T;
  const fresh = read();
  const [oldest] = cache.size >= CACHE_MAX ? cache.keys() : [];
  if (oldest !== undefined) cache.delete(oldest);
  cache.set(key, fresh);
  return fresh;
}

function readWith(text: string, variables: FeelContext): Node {
  if (isJuel(text)) return cached(`j${text}`, () => parseJuel(text));
  const names = knownIn(text, variables);
  return cached(`e${names.join("\u0000")}\u0001${text}`, () => parseExpression(text, names));
}

function evaluationOf(options: FeelOptions): Evaluation {
  return new Evaluation({
    budget: { ...FEEL_BUDGET, ...options.budget },
    world: options.world ?? {},
    types: () => undefined,
  });
}

/** Throws where the text is no FEEL expression. Names of more than one word have to be given. */
export function checkFeel(text: string, names: readonly string[] = []): void {
  if (isJuel(text)) parseJuel(text);
  else parseExpression(text, names);
}

/** Evaluates an expression over variables that are JSON. Conditions in the style of `${a == 1}` are understood as far as FEEL has the same. */
export function evaluateFeel(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  options: FeelOptions = {},
): FeelResult {
  const run = evaluationOf(options);
  const frame = variables as FeelContext;
  return { value: toJson(evaluate(readWith(text, frame), inside(null, frame), run)), warnings: run.warnings };
}

/** Holds a value against unary tests, as a cell of a decision table does: `< 10`, `"a", "b"`, `not([1..5])`. */
export function testFeel(
  text: string,
  value: unknown,
  variables: Readonly<Record<string, unknown>> = {},
  options: FeelOptions = {},
): boolean {
  const run = evaluationOf(options);
  const frame = variables as FeelContext;
  const names = knownIn(text, frame);
  const tests = cached(`u${names.join("\u0000")}\u0001${text}`, () => parseUnaryTests(text, names));
  const scope = inside(inside(null, frame), { "?": value as FeelValue });
  return meetsAll(value as FeelValue, tests, (node) => evaluate(node, scope, run)) === true;
}
