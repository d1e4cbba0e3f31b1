import type { Binding, Node } from "./ast.ts";
import { order } from "./compare.ts";
import { type Evaluation, inside, type Scope } from "./evaluation.ts";
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
  const outer = inside(scope, { partial: results });
  const went = eachScope(bindings, outer, run, evaluate, (inner) => {
    run.grow(1);
    results.push(evaluate(body, inner, run));
    return true;
  });
  return went ? results : null;
}

/** Stops at what decides; what is neither true nor false leaves it unknown. */
export function quantified(
  kind: "some" | "every",
  bindings: readonly Binding[],
  scope: Scope,
  run: Evaluation,
  { evaluate, body }: Body,
): FeelValue {
  const decisive = kind === "some";
  let result: FeelValue = !decisive;
  const went = eachScope(bindings, scope, run, evaluate, (inner) => {
    const value = evaluate(body, inner, run);
    if (value === decisive) result = decisive;
    else if (typeof value !== "boolean") result = null;
    return value !== decisive;
  });
  return went ? result : null;
}

/** False where something that is gone through is nothing to go through. `visit` answers whether to go on. */
function eachScope(
  bindings: readonly Binding[],
  scope: Scope,
  run: Evaluation,
  evaluate: Body["evaluate"],
  visit: (scope: Scope) => boolean,
): boolean {
  let isOver = false;
  const enter = (index: number, outer: Scope): boolean => {
    const binding = bindings[index];
    if (binding === undefined) {
      isOver = !visit(outer);
      return true;
    }
    const items = itemsOf(binding, outer, run, evaluate);
    if (items === null) return false;
    for (const item of items) {
      run.step();
      if (!enter(index + 1, inside(outer, { [binding.name]: item }))) return false;
      if (isOver) return true;
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
  return from === null ? run.warn("null can't be gone through") : [from];
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

/** Up or down by one, or by a day. */
function counted(from: FeelValue, to: FeelValue, run: Evaluation): Iterable<FeelValue> | null {
  if (typeof from === "number" && typeof to === "number") {
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to))
      return run.warn("only whole numbers can be counted through");
    return count(from, to, (at) => at);
  }
  if (isKind(from, "date") && isKind(to, "date")) {
    return count(0, epochDays(to) - epochDays(from), (at) => dateAfter(from, at));
  }
  return run.warn("only whole numbers and dates can be counted through");
}

function* count(from: number, to: number, item: (at: number) => FeelValue): Generator<FeelValue> {
  const by = from <= to ? 1 : -1;
  for (let at = from; by > 0 ? at <= to : at >= to; at += by) yield item(at);
}

/** `list[3]`, `list[-1]` and `list[test]`. What is no list is taken as a list of one. */
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
  return item === undefined ? run.warn(`there is no item ${position} in a list of ${list.length}`) : item;
}
