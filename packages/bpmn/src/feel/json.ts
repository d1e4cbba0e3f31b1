import { PawlError } from "pawl";
import { textOf } from "./text.ts";
import { contextOf, type FeelValue, feelValueOf, isContext, isList } from "./value.ts";

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const DEPTH_MAX = 500;

/** Converts a value to JSON. Dates, times, durations and ranges become FEEL text; functions become null. */
export function toJson(value: FeelValue, depth = 0): Json {
  if (depth > DEPTH_MAX) throw tooDeep();
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map((item) => toJson(feelValueOf(item), depth + 1));
  if (!isContext(value)) return textOf(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, toJson(feelValueOf(entry), depth + 1)]),
  );
}

/** Converts a value from outside. Values of types that FEEL does not have become null. */
export function fromJson(value: unknown, depth = 0): FeelValue {
  if (depth > DEPTH_MAX) throw tooDeep();
  const own = feelValueOf(value);
  if (isList(own)) return own.map((item) => fromJson(item, depth + 1));
  if (!isContext(own)) return own;
  return contextOf(Object.entries(own).map(([name, entry]) => [name, fromJson(entry, depth + 1)]));
}

function tooDeep(): PawlError {
  return new PawlError("EXPRESSION_LIMIT", `value is nested deeper than ${DEPTH_MAX}; pass flatter data`);
}
