import { equal } from "./compare.ts";
import type { Evaluation, Scope } from "./evaluation.ts";
import { lookUp } from "./evaluation.ts";
import { momentAt, negated, plusDuration } from "./temporal.ts";
import { parseDuration, temporal } from "./temporal-text.ts";
import { textOf } from "./text.ts";
import { contextOf, entryOf, type FeelValue, isContext, isKind, isList } from "./value.ts";

/**
 * The functions and methods of JUEL that models may call: those that published models use and that need no Java object. The list
 * is closed. Each is pure, and null if its arguments do not fit.
 */

interface JuelCall {
  /** The least and the greatest number of arguments. */
  readonly args: readonly [number, number];
  readonly call: (args: readonly FeelValue[], parts: { readonly scope: Scope; readonly run: Evaluation }) => FeelValue;
}

/** JUEL converts null to an empty text. */
export function juelText(value: FeelValue): string {
  return textOf(value) ?? "";
}

function nowOf(run: Evaluation): FeelValue {
  const { now } = run.world;
  if (now === undefined) return run.warn("the current time is not known here");
  return momentAt(BigInt(Math.trunc(now)) * 1_000_000n, { kind: "offset", seconds: 0 });
}

/** A variable by its name. `execution` and `task` see the variables of the element. */
const getVariable: JuelCall = {
  args: [1, 1],
  call: ([name], { scope }) => lookUp(scope, juelText(name ?? null)) ?? null,
};
const hasVariable: JuelCall = {
  args: [1, 1],
  call: ([name], { scope }) => lookUp(scope, juelText(name ?? null)) !== undefined,
};

/** A context of keys, each followed by its value. */
function mapOf(parts: readonly FeelValue[]): FeelValue {
  const keys = parts.filter((_, index) => index % 2 === 0);
  return contextOf(keys.map((key, index) => [juelText(key), parts[2 * index + 1] ?? null] as const));
}

export const JUEL_FUNCTIONS: ReadonlyMap<string, JuelCall> = new Map<string, JuelCall>([
  ["dateTime", { args: [0, 0], call: (_, { run }) => nowOf(run) }],
  ["now", { args: [0, 0], call: (_, { run }) => nowOf(run) }],
  ["concat", { args: [0, 100], call: (parts, { run }) => grown(parts.map(juelText).join(""), run) }],
  ["list", { args: [0, 1000], call: (items) => [...items] }],
  ["map", { args: [0, 1000], call: mapOf }],
  ["execution.getVariable", getVariable],
  ["execution.hasVariable", hasVariable],
  ["task.getVariable", getVariable],
  ["task.hasVariable", hasVariable],
]);

const UNITS: Readonly<Record<string, (count: number) => string>> = {
  Years: (count) => `P${count}Y`,
  Months: (count) => `P${count}M`,
  Weeks: (count) => `P${count * 7}D`,
  Days: (count) => `P${count}D`,
  Hours: (count) => `PT${count}H`,
  Minutes: (count) => `PT${count}M`,
  Seconds: (count) => `PT${count}S`,
};

/** A variable that holds a date is text, because variables are JSON. */
function moved(self: FeelValue, unit: (count: number) => string, count: FeelValue): FeelValue {
  const moment = typeof self === "string" ? temporal(self) : self;
  const isMoment = isKind(moment, "date") || isKind(moment, "date and time") || isKind(moment, "time");
  if (!isMoment || typeof count !== "number" || !Number.isSafeInteger(count)) return null;
  const duration = parseDuration(unit(Math.abs(count)));
  if (duration === null) return null;
  return plusDuration(moment, count < 0 ? negated(duration) : duration);
}

function shifts(): readonly (readonly [string, JuelCall])[] {
  return Object.entries(UNITS).flatMap(([name, unit]) => {
    const by = (sign: 1 | -1): JuelCall => ({
      args: [1, 1],
      call: ([self = null, count = null]) => moved(self, unit, typeof count === "number" ? sign * count : null),
    });
    return [
      [`plus${name}`, by(1)],
      [`minus${name}`, by(-1)],
    ] as const;
  });
}

type OfText = (text: string, ...args: readonly FeelValue[]) => FeelValue;

function ofText(least: number, most: number, call: OfText): JuelCall {
  return {
    args: [least, most],
    call: ([self, ...args], { run }) => (typeof self === "string" ? grown(call(self, ...args), run) : null),
  };
}

function grown(value: FeelValue, run: Evaluation): FeelValue {
  if (typeof value === "string") run.grow(value.length);
  return value;
}

function index(value: FeelValue | undefined): number {
  return typeof value === "number" ? Math.trunc(value) : Number.NaN;
}

function part(text: string, from: FeelValue | undefined, to: FeelValue | undefined): FeelValue {
  const [start, end] = [index(from), to === undefined ? text.length : index(to)];
  return start >= 0 && start <= end && end <= text.length ? text.slice(start, end) : null;
}

function sizeOf(value: FeelValue): number | null {
  if (typeof value === "string" || isList(value)) return value.length;
  return isContext(value) ? Object.keys(value).length : null;
}

function contains(self: FeelValue, value: FeelValue): FeelValue {
  if (typeof self === "string") return self.includes(juelText(value));
  return isList(self) ? self.some((item) => equal(item, value) === true) : null;
}

function got(self: FeelValue, key: FeelValue): FeelValue {
  if (isList(self)) return self[index(key)] ?? null;
  return isContext(self) ? (entryOf(self, juelText(key)) ?? null) : null;
}

/** Methods by name. The first argument is the value that they are called on. */
export const JUEL_METHODS: ReadonlyMap<string, JuelCall> = new Map<string, JuelCall>([
  ["equals", { args: [1, 1], call: ([self = null, other = null]) => equal(self, other) === true }],
  ["toString", { args: [0, 0], call: ([self = null]) => juelText(self) }],
  ["contains", { args: [1, 1], call: ([self = null, value = null]) => contains(self, value) }],
  ["isEmpty", { args: [0, 0], call: ([self = null]) => (sizeOf(self) === null ? null : sizeOf(self) === 0) }],
  ["size", { args: [0, 0], call: ([self = null]) => (typeof self === "string" ? null : sizeOf(self)) }],
  ["get", { args: [1, 1], call: ([self = null, key = null]) => got(self, key) }],
  [
    "containsKey",
    {
      args: [1, 1],
      call: ([self = null, key = null]) => (isContext(self) ? entryOf(self, juelText(key)) !== undefined : null),
    },
  ],
  ["length", ofText(0, 0, (text) => text.length)],
  ["equalsIgnoreCase", ofText(1, 1, (text, other) => text.toLowerCase() === juelText(other ?? null).toLowerCase())],
  ["startsWith", ofText(1, 1, (text, start) => text.startsWith(juelText(start ?? null)))],
  ["endsWith", ofText(1, 1, (text, end) => text.endsWith(juelText(end ?? null)))],
  ["toUpperCase", ofText(0, 0, (text) => text.toUpperCase())],
  ["toLowerCase", ofText(0, 0, (text) => text.toLowerCase())],
  ["trim", ofText(0, 0, (text) => text.trim())],
  ["substring", ofText(1, 2, (text, from, to) => part(text, from, to))],
  ["indexOf", ofText(1, 1, (text, other) => text.indexOf(juelText(other ?? null)))],
  ["concat", ofText(1, 1, (text, other) => text + juelText(other ?? null))],
  ["toDate", { args: [0, 0], call: ([self = null]) => self }],
  ...shifts(),
]);
