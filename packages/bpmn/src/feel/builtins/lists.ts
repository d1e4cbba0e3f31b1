import { equal } from "../compare.ts";
import type { Evaluation } from "../evaluation.ts";
import { type FeelFunction, type FeelList, type FeelValue, isList } from "../value.ts";
import { signature } from "./signature.ts";

export const LIST_FUNCTIONS = [
  signature("list contains(list: list, element: any)", ([list, item = null], run) => has(list as FeelList, item, run)),
  signature("sublist(list: list, start position: number, length?: number?)", ([list, start, length = null], run) =>
    sublist(list as FeelList, start as number, length as number | null, run),
  ),
  signature("append(list: list, ...item: any)", ([list, items], run) =>
    grown([...(list as FeelList), ...(items as FeelList)], run),
  ),
  signature("concatenate(...list: list)", ([lists], run) => grown((lists as FeelList).flat(1) as FeelList, run)),
  signature("insert before(list: list, position: number, newItem: any)", ([list, position, item = null], run) =>
    inserted(list as FeelList, position as number, item, run),
  ),
  signature("remove(list: list, position: number)", ([list, position], run) => {
    const at = indexAt(list as FeelList, position as number);
    return at === null ? null : grown((list as FeelList).toSpliced(at, 1), run);
  }),
  signature("list replace(list: list, position: number, newItem: any)", ([list, position, item = null], run) =>
    replaced(list as FeelList, position as number, item, run),
  ),
  signature("list replace(list: list, match: function, newItem: any)", ([list, match, item = null], run) =>
    replacedWhere(list as FeelList, match as FeelFunction, item, run),
  ),
  signature("reverse(list: list)", ([list], run) => grown((list as FeelList).toReversed(), run)),
  signature("index of(list: list, match: any)", ([list, match = null], run) => {
    run.step((list as FeelList).length / 8);
    return (list as FeelList).flatMap((item, i) => (equal(item, match) === true ? [i + 1] : []));
  }),
  signature("union(...list: list)", ([lists], run) => distinct((lists as FeelList).flat(1) as FeelList, run)),
  signature("distinct values(list: list)", ([list], run) => distinct(list as FeelList, run)),
  signature("duplicate values(list: list)", ([list], run) => duplicates(list as FeelList, run)),
  signature("flatten(list: list)", ([list], run) => flattened(list as FeelList, run)),
  signature("sort(list: list, precedes: function)", ([list, precedes], run) =>
    sorted(list as FeelList, precedes as FeelFunction, run),
  ),
  signature("sort(list: list)", ([list], run) =>
    (list as FeelList).every((item) => typeof item === "number")
      ? grown(
          (list as readonly number[]).toSorted((a, b) => a - b),
          run,
        )
      : null,
  ),
  signature("partition(list: list, size: number)", ([list, size], run) =>
    partition(list as FeelList, size as number, run),
  ),
  signature("is empty(list: list)", ([list]) => (list as FeelList).length === 0),
];

function grown<T extends FeelList>(list: T, run: Evaluation): T {
  run.grow(list.length);
  return list;
}

function has(list: FeelList, value: FeelValue, run: Evaluation): boolean {
  run.step(list.length / 8);
  return list.some((item) => equal(item, value) === true);
}

function distinct(list: FeelList, run: Evaluation): FeelList {
  const seen = new Set<FeelValue>();
  const kept: FeelValue[] = [];
  const objects: FeelValue[] = [];
  for (const item of list) {
    // A set finds plain values; only objects are compared one by one.
    const isObject = typeof item === "object" && item !== null;
    if (isObject ? has(objects, item, run) : seen.has(item)) continue;
    if (isObject) objects.push(item);
    else seen.add(item);
    kept.push(item);
  }
  return grown(kept, run);
}

function duplicates(list: FeelList, run: Evaluation): FeelList {
  const twice = list.filter((item, i) => has(list.slice(0, i), item, run));
  return distinct(twice, run);
}

function flattened(list: FeelList, run: Evaluation): FeelList {
  const flat: FeelValue[] = [];
  const visit = (items: FeelList): void => {
    run.enter();
    for (const item of items) {
      if (isList(item)) visit(item);
      else flat.push(item);
    }
    run.leave();
  };
  visit(list);
  return grown(flat, run);
}

/** Converts a position to an index: 1 is the first item, -1 the last. Null if the list has no such position. */
function indexAt(list: FeelList, position: number): number | null {
  const at = Math.trunc(position);
  if (at === 0 || Math.abs(at) > list.length) return null;
  return at > 0 ? at - 1 : list.length + at;
}

function sublist(list: FeelList, start: number, length: number | null, run: Evaluation): FeelValue {
  const from = indexAt(list, start);
  if (from === null || (length !== null && (length < 0 || from + length > list.length))) return null;
  return grown(list.slice(from, length === null ? undefined : from + length), run);
}

function replaced(list: FeelList, position: number, item: FeelValue, run: Evaluation): FeelValue {
  const at = indexAt(list, position);
  return at === null ? null : grown(list.with(at, item), run);
}

function replacedWhere(list: FeelList, match: FeelFunction, item: FeelValue, run: Evaluation): FeelValue {
  if (match.parameters.length !== 2) return null;
  const results = list.map((old) => match.call([old, item]));
  if (results.some((result) => typeof result !== "boolean")) return null;
  return grown(
    list.map((old, i) => (results[i] === true ? item : old)),
    run,
  );
}

function inserted(list: FeelList, position: number, item: FeelValue, run: Evaluation): FeelValue {
  const at = indexAt(list, position);
  return at === null ? null : grown([...list.slice(0, at), item, ...list.slice(at)], run);
}

/** Merge sort: it ends for any `precedes` function, even an inconsistent one. */
function sorted(list: FeelList, precedes: FeelFunction, run: Evaluation): FeelValue {
  if (precedes.parameters.length !== 2) return null;
  let isInvalid = false;
  const before = (a: FeelValue, b: FeelValue): boolean => {
    const result = precedes.call([a, b]);
    if (typeof result !== "boolean") isInvalid = true;
    return result === true;
  };
  const merge = (items: FeelList): FeelList => {
    if (items.length < 2) return items;
    const half = Math.floor(items.length / 2);
    const [left, right] = [merge(items.slice(0, half)), merge(items.slice(half))];
    const merged: FeelValue[] = [];
    let [i, j] = [0, 0];
    while (i < left.length && j < right.length) {
      const [a = null, b = null] = [left[i], right[j]];
      if (before(b, a)) {
        merged.push(b);
        j += 1;
      } else {
        merged.push(a);
        i += 1;
      }
    }
    return [...merged, ...left.slice(i), ...right.slice(j)];
  };
  const result = merge(list);
  return isInvalid ? null : grown(result, run);
}

function partition(list: FeelList, size: number, run: Evaluation): FeelValue {
  if (size < 1) return null;
  const parts: FeelList[] = [];
  for (let at = 0; at < list.length; at += Math.trunc(size)) parts.push(list.slice(at, at + Math.trunc(size)));
  return grown(parts, run);
}
