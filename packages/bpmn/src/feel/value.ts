/**
 * Marks FEEL values that JSON does not have: dates, times, durations, ranges and functions. JSON cannot contain a symbol, so data
 * from outside is never mistaken for one of them.
 */
export const KIND: unique symbol = Symbol("pawl.feel.kind");

/** A time zone: a fixed offset, or a region whose offset depends on the date. */
export type Zone =
  | { readonly kind: "offset"; readonly seconds: number }
  | { readonly kind: "region"; readonly id: string };

export interface FeelDate {
  readonly [KIND]: "date";
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

export interface FeelTime {
  readonly [KIND]: "time";
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nano: number;
  readonly zone: Zone | null;
}

export interface FeelDateTime {
  readonly [KIND]: "date and time";
  readonly date: FeelDate;
  readonly time: FeelTime;
}

export interface DaysDuration {
  readonly [KIND]: "days and time duration";
  readonly nanos: bigint;
}

export interface MonthsDuration {
  readonly [KIND]: "years and months duration";
  readonly months: number;
}

export interface FeelRange {
  readonly [KIND]: "range";
  /** Null if the range has no lower bound. */
  readonly start: FeelValue;
  readonly startIncluded: boolean;
  /** Null if the range has no upper bound. */
  readonly end: FeelValue;
  readonly endIncluded: boolean;
  /** Whether an expression for a bound was null, which is not the same as a range without that bound, such as `(< 5)`. */
  readonly hasUnknownBound?: true;
}

export interface FeelParameter {
  readonly name: string;
  readonly type: FeelType | null;
}

export interface FeelFunction {
  readonly [KIND]: "function";
  readonly parameters: readonly FeelParameter[];
  /** Arguments in the order of the parameters. */
  readonly call: (args: readonly FeelValue[]) => FeelValue;
  readonly result: FeelType | null;
}

export type FeelList = readonly FeelValue[];

export interface FeelContext {
  readonly [name: string]: FeelValue;
}

export type FeelValue =
  | null
  | boolean
  | number
  | string
  | FeelList
  | FeelContext
  | FeelDate
  | FeelTime
  | FeelDateTime
  | DaysDuration
  | MonthsDuration
  | FeelRange
  | FeelFunction;

/** A type, as written after `instance of` or in an item definition. */
export type FeelType =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "list"; readonly of: FeelType }
  | { readonly kind: "range"; readonly of: FeelType }
  | { readonly kind: "context"; readonly fields: readonly { readonly name: string; readonly type: FeelType }[] }
  | { readonly kind: "function"; readonly parameters: readonly FeelType[]; readonly result: FeelType };

export type FeelKind =
  | "null"
  | "boolean"
  | "number"
  | "string"
  | "list"
  | "context"
  | "date"
  | "time"
  | "date and time"
  | "days and time duration"
  | "years and months duration"
  | "range"
  | "function";

type Marked = Extract<FeelValue, { readonly [KIND]: string }>;

export function kindOf(value: FeelValue): FeelKind {
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "number":
      return "number";
    case "string":
      return "string";
    default:
      if (isList(value)) return "list";
      return isMarked(value) ? value[KIND] : "context";
  }
}

function isMarked(value: object): value is Marked {
  return KIND in value;
}

export function isList(value: FeelValue): value is FeelList {
  return Array.isArray(value);
}

export function isContext(value: FeelValue): value is FeelContext {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isMarked(value);
}

export function isKind<K extends Marked[typeof KIND]>(
  value: FeelValue,
  kind: K,
): value is Extract<Marked, { readonly [KIND]: K }> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && (value as Marked)[KIND] === kind;
}

/** Converts a variable from outside, without its parts. Null if FEEL has no such value, for example NaN or a function. */
export function feelValueOf(value: unknown): FeelValue {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? value : null;
    case "string":
    case "boolean":
      return value;
    case "object":
      return value as FeelValue;
    default:
      return null;
  }
}

/** Reads own properties only: inherited ones are not data. */
export function entryOf(context: FeelContext, name: string): FeelValue | undefined {
  return Object.hasOwn(context, name) ? feelValueOf(context[name]) : undefined;
}

/** Creates a context. It has no prototype, so any name can be used. */
export function contextOf(entries: Iterable<readonly [string, FeelValue]>): FeelContext {
  const context: Record<string, FeelValue> = Object.create(null);
  for (const [name, value] of entries) context[name] = value;
  return context;
}

export function rangeOf(
  start: FeelValue,
  end: FeelValue,
  included: { readonly start: boolean; readonly end: boolean },
): FeelRange {
  return { [KIND]: "range", start, startIncluded: included.start, end, endIncluded: included.end };
}
