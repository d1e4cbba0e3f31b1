import { difference, negative, power, product, quotient, sum } from "./arithmetic.ts";
import type { BinaryOperator, ConstructionNode, Node } from "./ast.ts";
import { BUILTINS } from "./builtins/table.ts";
import { type Arguments, callBuiltin, callFunction } from "./call.ts";
import { equal, order, within } from "./compare.ts";
import { childScope, type Evaluation, lookUp, type Scope } from "./evaluation.ts";
import { isInstance } from "./feel-types.ts";
import { filtered, iterated, quantified } from "./loops.ts";
import { propertyOf } from "./temporal.ts";
import { meets } from "./unary-tests.ts";
import {
  contextOf,
  entryOf,
  type FeelFunction,
  type FeelParameter,
  type FeelValue,
  isContext,
  isKind,
  isList,
  KIND,
  kindOf,
  rangeOf,
} from "./value.ts";

/** Evaluates a tree. Returns null with a warning if an operation has no value; throws only if the budget is exceeded. */
export function evaluate(node: Node, scope: Scope, run: Evaluation): FeelValue {
  run.enter();
  const value = resultOf(node, scope, run);
  run.leave();
  return value;
}

function resultOf(node: Node, scope: Scope, run: Evaluation): FeelValue {
  switch (node.kind) {
    case "literal":
      return node.value;
    case "name":
      return named(node.name, scope, run);
    case "path":
      return pathOf(evaluate(node.from, scope, run), node.name, run);
    case "filter":
      return filtered(evaluate(node.from, scope, run), (item) => evaluate(node.test, itemScope(scope, item), run), run);
    case "call":
    case "named call":
      return called(node, scope, run);
    case "binary":
      return binary(node.op, node, scope, run);
    case "negate":
      return negative(evaluate(node.value, scope, run));
    case "between":
      return betweenOf(node, scope, run);
    case "in": {
      const value = evaluate(node.value, scope, run);
      const inner = childScope(scope, { "?": value });
      return meets(value, node.tests, (part) => evaluate(part, inner, run));
    }
    case "instance":
      return isInstance(evaluate(node.value, scope, run), node.type, run.types);
    case "if":
      return evaluate(evaluate(node.test, scope, run) === true ? node.yes : node.no, scope, run);
    default:
      return builtOf(node, scope, run);
  }
}

function builtOf(node: ConstructionNode, scope: Scope, run: Evaluation): FeelValue {
  switch (node.kind) {
    case "for":
      return iterated(node.bindings, scope, run, { evaluate, body: node.body });
    case "some":
    case "every":
      return quantified(node.kind, node.bindings, scope, run, { evaluate, body: node.body });
    case "list":
      run.grow(node.items.length);
      return node.items.map((item) => evaluate(item, scope, run));
    case "context":
      return contextValue(node.entries, scope, run);
    case "function":
      return functionOf(node.parameters, node.body, scope, run);
    case "range":
      return rangeValue(node, scope, run);
    case "boxed":
      return node.evaluate(scope, run);
    case "half range": {
      const value = evaluate(node.value, scope, run);
      if (value === null) return null;
      if (node.op === "=") return rangeOf(value, value, { start: true, end: true });
      const isUpper = node.op === "<" || node.op === "<=";
      const included = node.op === "<=" || node.op === ">=";
      if (node.op === "!=") return null;
      return isUpper
        ? rangeOf(null, value, { start: false, end: included })
        : rangeOf(value, null, { start: included, end: false });
    }
  }
}

function named(name: string, scope: Scope, run: Evaluation): FeelValue {
  const value = lookUp(scope, name);
  if (value !== undefined) return value;
  const builtin = BUILTINS.get(name);
  if (builtin === undefined) return dotted(name, scope, run);
  const [first] = builtin.signatures;
  const parameters = (first?.parameters ?? []).map((parameter) => ({ name: parameter.name, type: null }));
  return {
    [KIND]: "function",
    parameters,
    result: null,
    call: (values) => callBuiltin(builtin, { kind: "positional", values }, run),
  };
}

/** Resolves `a.b` as a path if no variable has that name. */
function dotted(name: string, scope: Scope, run: Evaluation): FeelValue {
  const [first = "", ...rest] = name.split(".");
  const value = rest.length === 0 ? undefined : lookUp(scope, first);
  if (value === undefined) {
    run.missing(name);
    return run.warn(`variable ${name} not found`);
  }
  return rest.reduce<FeelValue>((found, part) => pathOf(found, part, run), value);
}

function called(
  node: Extract<Node, { readonly kind: "call" | "named call" }>,
  scope: Scope,
  run: Evaluation,
): FeelValue {
  const { callee } = node;
  const builtin = callee.kind === "name" ? BUILTINS.get(callee.name) : undefined;
  const read = builtin !== undefined && NULL_TESTS.has(builtin.name) ? evaluateOptional : evaluate;
  const args: Arguments =
    node.kind === "call"
      ? { kind: "positional", values: node.args.map((arg) => read(arg, scope, run)) }
      : { kind: "named", values: new Map(node.args.map(({ name, value }) => [name, read(value, scope, run)])) };
  const variable = callee.kind === "name" ? lookUp(scope, callee.name) : evaluate(callee, scope, run);
  // A variable may have the name of a built-in function, such as `count`.
  if (builtin !== undefined && !isKind(variable ?? null, "function")) return callBuiltin(builtin, args, run);
  if (variable !== undefined) return callFunction(variable, args, run);
  const name = callee.kind === "name" ? callee.name : "";
  run.missing(name);
  return run.warn(`function ${name} not found`);
}

/** Functions whose purpose is to test whether a variable exists. */
const NULL_TESTS = new Set(["is defined", "get or else"]);

/** Evaluates a name that may have no variable. It is null then, without a warning. */
function evaluateOptional(node: Node, scope: Scope, run: Evaluation): FeelValue {
  const isMissing = node.kind === "name" && lookUp(scope, node.name) === undefined && !BUILTINS.has(node.name);
  return isMissing ? null : evaluate(node, scope, run);
}

function binary(
  op: BinaryOperator,
  node: { readonly left: Node; readonly right: Node },
  scope: Scope,
  run: Evaluation,
): FeelValue {
  const read = op === "=" || op === "!=" ? operandReader(node) : evaluate;
  const left = read(node.left, scope, run);
  if (op === "and" || op === "or") return connected(op, left, () => evaluate(node.right, scope, run));
  const right = read(node.right, scope, run);
  const result = computed(op, left, right);
  if (typeof result === "string") run.grow(result.length);
  if (result === null && left !== null && right !== null) {
    run.warn(`operator ${op} is not defined for ${kindOf(left)} and ${kindOf(right)}`);
  }
  return result;
}

/** A comparison with null tests whether a variable has a value. */
function operandReader({ left, right }: { readonly left: Node; readonly right: Node }): typeof evaluate {
  const isNull = ({ kind, value }: { readonly kind: string; readonly value?: unknown }): boolean =>
    kind === "literal" && value === null;
  return isNull(left) || isNull(right) ? evaluateOptional : evaluate;
}

/** Three-valued logic: a value other than true or false is unknown. */
function connected(op: "and" | "or", left: FeelValue, rightOf: () => FeelValue): FeelValue {
  const decisive = op === "or";
  if (left === decisive) return decisive;
  const right = rightOf();
  if (right === decisive) return decisive;
  return left === !decisive && right === !decisive ? !decisive : null;
}

function computed(op: Exclude<BinaryOperator, "and" | "or">, left: FeelValue, right: FeelValue): FeelValue {
  switch (op) {
    case "+":
      return sum(left, right);
    case "-":
      return difference(left, right);
    case "*":
      return product(left, right);
    case "/":
      return quotient(left, right);
    case "**":
      return power(left, right);
    case "=":
      return equal(left, right);
    case "!=": {
      const same = equal(left, right);
      return same === null ? null : !same;
    }
    default: {
      const ordered = order(left, right);
      return ordered === null ? null : holds(op, ordered);
    }
  }
}

function holds(op: "<" | "<=" | ">" | ">=", ordered: number): boolean {
  if (op === "<") return ordered < 0;
  if (op === "<=") return ordered <= 0;
  return op === ">" ? ordered > 0 : ordered >= 0;
}

function betweenOf(node: Extract<Node, { readonly kind: "between" }>, scope: Scope, run: Evaluation): FeelValue {
  const [low, high] = [evaluate(node.low, scope, run), evaluate(node.high, scope, run)];
  if (low === null || high === null) return null;
  return within(evaluate(node.value, scope, run), rangeOf(low, high, { start: true, end: true }));
}

function itemScope(scope: Scope, item: FeelValue): Scope {
  const own = childScope(scope, { item });
  if (typeof item !== "object" || item === null || isList(item) || kindOf(item) !== "context") return own;
  return childScope(own, item as Scope["frame"]);
}

function contextValue(
  entries: Extract<Node, { readonly kind: "context" }>["entries"],
  scope: Scope,
  run: Evaluation,
): FeelValue {
  run.grow(entries.length);
  const frame: Record<string, FeelValue> = Object.create(null);
  const inner = childScope(scope, frame);
  for (const { name, value } of entries) {
    if (Object.hasOwn(frame, name)) return run.warn(`duplicate context entry ${name}`);
    frame[name] = evaluate(value, inner, run);
  }
  return frame;
}

function rangeValue(node: Extract<Node, { readonly kind: "range" }>, scope: Scope, run: Evaluation): FeelValue {
  const [start, end] = [evaluate(node.start, scope, run), evaluate(node.end, scope, run)];
  if (start === null && end === null) return run.warn("range has no bounds");
  const ordered = start === null || end === null ? 0 : order(start, end);
  if (ordered === null) return run.warn(`range bounds are not comparable: ${kindOf(start)} and ${kindOf(end)}`);
  if (ordered > 0) return run.warn("the start of the range is greater than its end");
  const range = rangeOf(start, end, { start: node.startIncluded, end: node.endIncluded });
  return start === null || end === null ? { ...range, hasUnknownBound: true } : range;
}

function functionOf(
  parameters: readonly FeelParameter[],
  body: Node | null,
  scope: Scope,
  run: Evaluation,
): FeelFunction {
  const call = (args: readonly FeelValue[]): FeelValue => {
    if (body === null) return run.warn("external functions are not supported");
    const frame = contextOf(parameters.map(({ name }, i) => [name, args[i] ?? null]));
    return evaluate(body, childScope(scope, frame), run);
  };
  return { [KIND]: "function", parameters, result: null, call };
}

/** `value.name`: an entry of a context or a property of a value. For a list, the result has one value per item. */
function pathOf(value: FeelValue, name: string, run: Evaluation): FeelValue {
  if (value === null) return null;
  if (isList(value)) {
    run.grow(value.length);
    return value.map((item) => pathOf(item, name, run));
  }
  const found = isContext(value)
    ? entryOf(value, name)
    : isKind(value, "range")
      ? bound(value, name)
      : propertyOf(value, name);
  return found === undefined ? run.warn(`${kindOf(value)} has no property ${name}`) : found;
}

function bound(range: Extract<FeelValue, { readonly startIncluded: boolean }>, name: string): FeelValue | undefined {
  if (!isKind(range, "range")) return undefined;
  switch (name) {
    case "start":
      return range.start;
    case "end":
      return range.end;
    case "start included":
      return range.startIncluded;
    case "end included":
      return range.endIncluded;
    default:
      return undefined;
  }
}
