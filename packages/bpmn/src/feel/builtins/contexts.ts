import { identical } from "../compare.ts";
import type { Evaluation } from "../evaluation.ts";
import { fromJson, toJson } from "../json.ts";
import { contextOf, entryOf, type FeelContext, type FeelList, type FeelValue, isContext, isList } from "../value.ts";
import { signature } from "./signature.ts";

export const CONTEXT_FUNCTIONS = [
  signature(
    "get value(m: context, key: string)",
    ([context, key]) => entryOf(context as FeelContext, key as string) ?? null,
  ),
  signature("get value(context: context, keys: list)", ([context, keys]) =>
    valueAt(context as FeelContext, keys as FeelList),
  ),
  signature("get entries(m: context)", ([context], run) => entriesOf(context as FeelContext, run)),
  signature("context(entries: list)", ([entries], run) => contextFrom(entries as FeelList, run)),
  signature("context put(context: context, key: string, value: any)", ([context, key = null, value = null], run) =>
    put(context as FeelContext, [key], value, run),
  ),
  signature("context put(context: context, keys: list, value: any)", ([context, keys = null, value = null], run) =>
    isList(keys) && keys.length > 0 ? put(context as FeelContext, keys, value, run) : null,
  ),
  signature("context merge(contexts: list)", ([contexts], run) => merged(contexts as FeelList, run)),
  signature("not(negand: any)", ([value]) => (typeof value === "boolean" ? !value : null)),
  signature("is(value1: any, value2: any)", ([a = null, b = null]) => identical(a, b)),
  signature("is defined(value: any)", ([value]) => value !== null),
  signature("get or else(value: any, default: any)", ([value = null, otherwise = null]) => value ?? otherwise),
  signature("to json(value: any)", ([value = null], run) => {
    const text = JSON.stringify(toJson(value));
    run.grow(text.length);
    return text;
  }),
  signature("from json(value: string)", ([text], run) => parsed(text as string, run)),
];

function entriesOf(context: FeelContext, run: Evaluation): FeelList {
  const names = Object.keys(context);
  run.grow(names.length);
  return names.map((key) =>
    contextOf([
      ["key", key],
      ["value", entryOf(context, key) ?? null],
    ]),
  );
}

/** Null if an entry is not `{ key, value }`, or if a key occurs twice. */
function contextFrom(entries: FeelList, run: Evaluation): FeelValue {
  const pairs = new Map<string, FeelValue>();
  run.grow(entries.length);
  for (const entry of entries) {
    if (!isContext(entry)) return null;
    const [key, value] = [entryOf(entry, "key"), entryOf(entry, "value")];
    if (typeof key !== "string" || value === undefined || pairs.has(key)) return null;
    pairs.set(key, value);
  }
  return contextOf(pairs);
}

function put(context: FeelContext, keys: FeelList, value: FeelValue, run: Evaluation): FeelValue {
  const [key, ...rest] = keys;
  if (typeof key !== "string") return null;
  const inner = entryOf(context, key) ?? null;
  if (rest.length > 0 && inner !== null && !isContext(inner)) return null;
  if (rest.length > 0 && inner === null) return null;
  const placed = rest.length === 0 ? value : isContext(inner) ? put(inner, rest, value, run) : null;
  if (rest.length > 0 && placed === null) return null;
  run.grow(Object.keys(context).length);
  return contextOf([...Object.entries(context), [key, placed]]);
}

function merged(contexts: FeelList, run: Evaluation): FeelValue {
  if (!contexts.every(isContext)) return null;
  const entries = contexts.flatMap((context) => Object.entries(context));
  run.grow(entries.length);
  return contextOf(entries);
}

function valueAt(context: FeelContext, keys: FeelList): FeelValue {
  let value: FeelValue = context;
  for (const key of keys) {
    if (!isContext(value) || typeof key !== "string") return null;
    value = entryOf(value, key) ?? null;
  }
  return value;
}

function parsed(text: string, run: Evaluation): FeelValue {
  run.grow(text.length);
  try {
    return fromJson(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return run.warn("text is not valid JSON");
    throw error;
  }
}
