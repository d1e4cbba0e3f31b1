import { guardArguments, kinds, optionTable, readArgument, readOptions } from "pawl";
import type { Node, UnaryTests } from "./ast.ts";
import { evaluate } from "./evaluate.ts";
import { childScope, Evaluation, FEEL_BUDGET, type FeelBudget, type FeelWorld } from "./evaluation.ts";
import { type Json, toJson } from "./json.ts";
import { isJuel, parseJuel } from "./juel.ts";
import { knownNames } from "./known-names.ts";
import { parseExpression, parseUnaryTests } from "./parser.ts";
import { meetsAll } from "./unary-tests.ts";
import type { FeelContext, FeelValue } from "./value.ts";

export interface FeelOptions {
  readonly budget?: Partial<FeelBudget>;
  readonly world?: FeelWorld;
}

export interface FeelResult {
  /** Dates, times and durations are text. Null if the expression has no value. */
  readonly value: Json;
  /** Reasons for null values, at most 20. */
  readonly warnings: readonly string[];
}

const BUDGET = kinds.options(
  optionTable<Partial<FeelBudget>>("budget", {
    stepsMax: kinds.integer(1),
    depthMax: kinds.integer(1, FEEL_BUDGET.depthMax),
    sizeMax: kinds.integer(1),
  }),
);
const WORLD = kinds.options(
  optionTable<FeelWorld>("world", {
    now: kinds.number(-Number.MAX_VALUE, Number.MAX_VALUE),
    random: kinds.callback,
  }),
);
export const FEEL_KINDS = { budget: BUDGET, world: WORLD };
export const FEEL_OPTIONS = optionTable<FeelOptions>("the evaluation", FEEL_KINDS);

/** An object with any values: FEEL has values, such as dates, that JSON has not. */
export const VARIABLES = { ...kinds.value, allowed: "an object", fits: isObject };

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const NAMES = kinds.list(kinds.text);

const CACHE_MAX = 5_000;
const cache = new Map<string, Node | UnaryTests>();

/** Caches parsed expressions by their text and the names they were parsed with. The oldest entry is evicted first. */
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
  const names = knownNames(text, variables);
  return cached(`e${names.join("\u0000")}\u0001${text}`, () => parseExpression(text, names));
}

function evaluationOf(options: FeelOptions): Evaluation {
  return new Evaluation({
    budget: options.budget === undefined ? FEEL_BUDGET : { ...FEEL_BUDGET, ...options.budget },
    world: options.world ?? {},
    types: () => undefined,
  });
}

/** Throws `EXPRESSION_INVALID` if the text is not a FEEL expression. Pass `names` that have more than one word. */
export function checkFeel(text: string, names: readonly string[] = []): void {
  readArgument(kinds.text, text, "expression");
  readArgument(NAMES, names, "names");
  parseFeel(text, names);
}

/** Parses FEEL, or JUEL in braces. */
export function parseFeel(text: string, names: readonly string[]): Node {
  return isJuel(text) ? parseJuel(text) : parseExpression(text, names);
}

/** Evaluates an expression with JSON variables. JUEL such as `${a == 1}` is accepted if FEEL has an equivalent. */
export function evaluateFeel(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  options?: FeelOptions,
): FeelResult {
  readArgument(kinds.text, text, "expression");
  readArgument(VARIABLES, variables, "variables");
  const checked = readOptions(FEEL_OPTIONS, options);
  return guardArguments("variables", () => evaluateText(text, variables, checked));
}

/** `evaluateFeel` with checked arguments. */
export function evaluateText(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  options: FeelOptions = {},
): FeelResult {
  const run = evaluationOf(options);
  const frame = variables as FeelContext;
  return { value: toJson(evaluate(readWith(text, frame), childScope(null, frame), run)), warnings: run.warnings };
}

/** Returns true if the value meets the unary tests of a decision table cell: `< 10`, `"a", "b"`, `not([1..5])`. */
export function testFeel(
  text: string,
  value: unknown,
  variables: Readonly<Record<string, unknown>> = {},
  options?: FeelOptions,
): boolean {
  readArgument(kinds.text, text, "unary tests");
  readArgument(VARIABLES, variables, "variables");
  const run = evaluationOf(readOptions(FEEL_OPTIONS, options));
  const frame = variables as FeelContext;
  return guardArguments("value", () => {
    const names = knownNames(text, frame);
    const tests = cached(`u${names.join("\u0000")}\u0001${text}`, () => parseUnaryTests(text, names));
    const scope = childScope(childScope(null, frame), { "?": value as FeelValue });
    return meetsAll(value as FeelValue, tests, (node) => evaluate(node, scope, run)) === true;
  });
}
