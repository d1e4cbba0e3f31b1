import type { Binding, Node } from "./ast.ts";
import { order } from "./compare.ts";
import { childScope, type Evaluation, type Scope } from "./evaluation.ts";
import { epochDays } from "./temporal.ts";
import { dateAfter } from "./temporal-text.ts";
import { type FeelList, type FeelRange, type FeelValue, isKind, isList } from "./value.ts";

interface Body {
  readonly evaluate: (node: Node, scope: Scope, run: Evaluation) => FeelValue;
  readonly body: Node;
}

export function iterated(
  bindings: readonly Binding[],
  scope: Scope,
  run: Evaluation,
  { evaluate, body }: Body,
): FeelValue {
  const results: FeelValue[] = [];
  const outer = childScope(scope, { partial: results });
  const isIterable = eachScope(bindings, outer, run, evaluate, (inner) => {
    run.grow(1);
    results.push(evaluate(body, inner, run));
    return true;
  });
  return isIterable ? results : null;
}

/** Stops at the first item that decides. The result is null if no item decides and one is neither true nor false. */
export function quantified(
  kind: "some" | "every",
  bindings: readonly Binding[],
  scope: Scope,
  run: Evaluation,
  { evaluate, body }: Body,
): FeelValue {
  const decisive = kind === "some";
  let result: FeelValue = !decisive;
  const isIterable = eachScope(bindings, scope, run, evaluate, (inner) => {
    const value = evaluate(body, inner, run);
    if (value === decisive) result = decisive;
    else if (typeof value !== "boolean") result = null;
    return value !== decisive;
  });
  return isIterable ? result : null;
}

/** Calls `visit` for each combination of the bindings until it returns false. Returns false if a value cannot be iterated. */
function eachScope(
  bindings: readonly Binding[],
  scope: Scope,
  run: Evaluation,
  evaluate: Body["evaluate"],
  visit: (scope: Scope) => boolean,
): boolean {
  let isStopped = false;
  const enter = (index: number, outer: Scope): boolean => {
    const binding = bindings[index];
    if (binding === undefined) {
      isStopped = !visit(outer);
      return true;
    }
    const items = itemsOf(binding, outer, run, evaluate);
    if (items === null) return false;
    for (const item of items) {
      run.step();
      if (!enter(index + 1, childScope(outer, { [binding.name]: item }))) return false;
      if (isStopped) return true;
    }
    return true;
  };
  return enter(0, scope);
}

function itemsOf(
  binding: Binding,
  scope: Scope,
  run: Evaluation,
  evaluate: Body["evaluate"],
): Iterable<FeelValue> | null {
  const from = evaluate(binding.from, scope, run);
  if (binding.to !== null) return counted(from, evaluate(binding.to, scope, run), run);
  if (isList(from)) return from;
  if (isKind(from, "range")) return countedRange(from, run);
  return from === null ? run.warn("cannot iterate over null") : [from];
}

function countedRange(range: FeelRange, run: Evaluation): Iterable<FeelValue> | null {
  const items = counted(range.start, range.end, run);
  if (items === null) return null;
  const excluded = (item: FeelValue): boolean =>
    (!range.startIncluded && order(item, range.start) === 0) || (!range.endIncluded && order(item, range.end) === 0);
  return (function* () {
    for (const item of items) if (!excluded(item)) yield item;
  })();
}

/** Counts up or down, by one or by one day. */
function counted(from: FeelValue, to: FeelValue, run: Evaluation): Iterable<FeelValue> | null {
  if (typeof from === "number" && typeof to === "number") {
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to))
      return run.warn("cannot iterate over a range of fractions; use whole numbers");
    return count(from, to, (at) => at);
  }
  if (isKind(from, "date") && isKind(to, "date")) {
    return count(0, epochDays(to) - epochDays(from), (at) => dateAfter(from, at));
  }
  return run.warn("cannot iterate over this range; use whole numbers or dates");
}

function* count(from: number, to: number, item: (at: number) => FeelValue): Generator<FeelValue> {
  const by = from <= to ? 1 : -1;
  for (let at = from; by > 0 ? at <= to : at >= to; at += by) yield item(at);
}

/** `list[3]`, `list[-1]` and `list[test]`. A value that is not a list counts as a list of one item. */
export function filtered(value: FeelValue, test: (item: FeelValue) => FeelValue, run: Evaluation): FeelValue {
  const list: FeelList = isList(value) ? value : value === null ? [] : [value];
  const kept: FeelValue[] = [];
  if (list.length === 0) return typeof test(null) === "number" ? null : [];
  for (const [index, item] of list.entries()) {
    const result = test(item);
    if (index === 0 && typeof result === "number") return at(list, result, run);
    if (result === true) kept.push(item);
  }
  run.grow(kept.length);
  return kept;
}

function at(list: FeelList, position: number, run: Evaluation): FeelValue {
  const index = position > 0 ? position - 1 : list.length + position;
  const item = position === 0 ? undefined : list[index];
  return item === undefined ? run.warn(`list of ${list.length} items has no item ${position}`) : item;
}
