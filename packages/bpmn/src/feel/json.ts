import { PawlError } from "pawl";
import { textOf } from "./text.ts";
import { adopted, contextOf, type FeelValue, isContext, isList } from "./value.ts";

/** What JSON holds. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const DEPTH_MAX = 500;

/** A value as JSON: dates, times, durations and ranges as FEEL writes them, functions as null. */
export function toJson(value: FeelValue, depth = 0): Json {
  if (depth > DEPTH_MAX) throw tooDeep();
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map((item) => toJson(adopted(item), depth + 1));
  if (!isContext(value)) return textOf(value);
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, toJson(adopted(entry), depth + 1)]));
}

/** A value from outside with all that FEEL does not know made null. */
export function fromJson(value: unknown, depth = 0): FeelValue {
  if (depth > DEPTH_MAX) throw tooDeep();
  const own = adopted(value);
  if (isList(own)) return own.map((item) => fromJson(item, depth + 1));
  if (!isContext(own)) return own;
  return contextOf(Object.entries(own).map(([name, entry]) => [name, fromJson(entry, depth + 1)]));
}

function tooDeep(): PawlError {
  return new PawlError("EXPRESSION_LIMIT", `a value is nested deeper than ${DEPTH_MAX}`);
}
