import { sum } from "../arithmetic.ts";
import { order } from "../compare.ts";
import { decimal } from "../decimal.ts";
import { type FeelList, type FeelValue, isList } from "../value.ts";
import { signature } from "./signature.ts";

export const STATISTICS = [
  ...overList("min", (list) => extreme(list, -1)),
  ...overList("max", (list) => extreme(list, 1)),
  ...overList("sum", total),
  ...overList("mean", mean),
  ...overList("median", median),
  ...overList("stddev", deviation),
  ...overList("mode", mode),
  ...overList("product", productOf),
  ...overList("all", (list) => connected(list, false)),
  ...overList("any", (list) => connected(list, true)),
  signature("count(list: list)", ([list]) => (list as FeelList).length),
];

function areNumbers(list: FeelList): list is readonly number[] {
  return list.every((item) => typeof item === "number");
}

function extreme(list: FeelList, direction: 1 | -1): FeelValue {
  const [first = null] = list;
  let best: FeelValue = first;
  if (list.length === 1 && order(first, first) === null) return null;
  for (const item of list.slice(1)) {
    const ordered = order(item, best);
    if (ordered === null) return null;
    if (ordered * direction > 0) best = item;
  }
  return best;
}

function total(list: FeelList): FeelValue {
  const [first = null, ...rest] = list;
  if (typeof first === "string") return null;
  if (list.length === 1) return sum(first, first) === null ? null : first;
  return rest.reduce<FeelValue>((value, item) => sum(value, item), first);
}

function mean(list: FeelList): FeelValue {
  const value = areNumbers(list) ? total(list) : null;
  return typeof value === "number" ? decimal(value / list.length) : null;
}

function median(list: FeelList): FeelValue {
  if (!areNumbers(list) || list.length === 0) return null;
  const sorted = [...list].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : decimal(((sorted[half - 1] ?? 0) + upper) / 2);
}

function deviation(list: FeelList): FeelValue {
  const average = mean(list);
  if (!areNumbers(list) || typeof average !== "number" || list.length < 2) return null;
  const squares = list.reduce((value, item) => value + (item - average) ** 2, 0);
  return decimal(Math.sqrt(squares / (list.length - 1)));
}

function mode(list: FeelList): FeelValue {
  if (!areNumbers(list)) return null;
  const counts = new Map<number, number>();
  for (const item of list) counts.set(item, (counts.get(item) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return [...counts]
    .filter(([, count]) => count === most)
    .map(([item]) => item)
    .sort((a, b) => a - b);
}

function productOf(list: FeelList): FeelValue {
  if (!areNumbers(list) || list.length === 0) return null;
  return list.reduce<number | null>((value, item) => (value === null ? null : decimal(value * item)), 1);
}

/** Returns `decisive` if an item has that value. Null if no item has it and one is not a boolean. */
function connected(list: FeelList, decisive: boolean): FeelValue {
  if (list.includes(decisive)) return decisive;
  return list.every((item) => item === !decisive) ? !decisive : null;
}

/** Declares a function that takes one list, or the items as separate arguments. */
function overList(name: string, call: (list: FeelList) => FeelValue) {
  const overItems = ([value = null]: readonly FeelValue[], run: { step(count: number): void }): FeelValue => {
    const list = isList(value) ? value : [value];
    run.step(list.length / 4);
    return call(list);
  };
  return [signature(`${name}(list: list)`, overItems), signature(`${name}(...list: any)`, overItems)];
}
