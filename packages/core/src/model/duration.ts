import { PawlError } from "./errors.ts";
import { shortText } from "./payload-values.ts";

/** Milliseconds, a text such as `10 minutes` or `1h 30m`, or ISO 8601 such as `PT10S`. */
export type Duration = number | string;

/** 100 years of 365.25 days. */
export const DURATION_MS_MAX = 36_525 * 86_400_000;

type Unit = "ms" | "s" | "m" | "h" | "d" | "w";

const UNIT_MS: Readonly<Record<Unit, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const UNIT_WORDS: Readonly<Record<Unit, readonly string[]>> = {
  ms: ["ms", "msec", "msecs", "millisecond", "milliseconds"],
  s: ["s", "sec", "secs", "second", "seconds"],
  m: ["m", "min", "mins", "minute", "minutes"],
  h: ["h", "hr", "hrs", "hour", "hours"],
  d: ["d", "day", "days"],
  w: ["w", "wk", "wks", "week", "weeks"],
};

const UNITS: ReadonlyMap<string, Unit> = new Map(
  (Object.keys(UNIT_WORDS) as Unit[]).flatMap((unit) => UNIT_WORDS[unit].map((word) => [word, unit] as const)),
);

const VARYING = new Set(["mo", "mos", "month", "months", "y", "yr", "yrs", "year", "years"]);
const VARYING_FLAW = "months and years vary in length; use days or weeks";

const TEXT_CHARACTERS_MAX = 100;
const PART = /\s*(\d+(?:\.\d{1,9})?)\s*([a-z]+)\s*/iy;
const NUMBER = String.raw`(\d+(?:[.,]\d{1,9})?)`;
const ISO = new RegExp(
  `^P(?=.)(?:${NUMBER}Y)?(?:${NUMBER}M)?(?:${NUMBER}W)?(?:${NUMBER}D)?` +
    `(?:T(?=.)(?:${NUMBER}H)?(?:${NUMBER}M)?(?:${NUMBER}S)?)?$`,
  "i",
);

/** A number of a unit, as digits. Decimals are not converted to binary fractions, or `1.1h` would get a millisecond more. */
interface Part {
  readonly digits: string;
  readonly unit: Unit;
}

/** Returns a duration in whole ms, rounded up so that nothing happens early. `what` names the value in errors. */
export function parseDuration(value: unknown, what: string): number {
  if (typeof value === "number") {
    if (!(value >= 0)) throw invalid(value, what, "pass ms, 0 or more");
    return inRange(Math.ceil(value), value, what);
  }
  if (typeof value !== "string" || value.length > TEXT_CHARACTERS_MAX) {
    throw invalid(value, what, "pass ms, a text such as `10 minutes`, or ISO 8601 such as `PT10S`");
  }
  const parts = /^\s*p/i.test(value) ? isoParts(value, what) : wordParts(value, what);
  return inRange(sumMs(parts), value, what);
}

function inRange(ms: number, value: unknown, what: string): number {
  if (ms > DURATION_MS_MAX) throw invalid(value, what, "at most 100 years are allowed");
  // A -0 becomes 0.
  return ms + 0;
}

/** Units must get smaller from part to part: `1h 1h` and `5m 1h` are typing errors, not durations. */
function wordParts(text: string, what: string): readonly Part[] {
  const parts: Part[] = [];
  let unitMsLast = Number.POSITIVE_INFINITY;
  PART.lastIndex = 0;
  for (let end = 0; end < text.length; end = PART.lastIndex) {
    const [, digits, word] = PART.exec(text) ?? [];
    if (digits === undefined || word === undefined) {
      throw invalid(text, what, "pass numbers with units, such as `10 minutes` or `1h 30m`");
    }
    if (VARYING.has(word.toLowerCase())) throw invalid(text, what, VARYING_FLAW);
    const unit = UNITS.get(word.toLowerCase());
    if (unit === undefined) throw invalid(text, what, `unknown unit ${word}; use ms, s, m, h, d or w`);
    if (UNIT_MS[unit] >= unitMsLast) throw invalid(text, what, "units must be in descending order, each at most once");
    unitMsLast = UNIT_MS[unit];
    parts.push({ digits, unit });
  }
  if (parts.length === 0) throw invalid(text, what, "it is empty");
  return parts;
}

function isoParts(text: string, what: string): readonly Part[] {
  const match = ISO.exec(text.trim());
  if (match === null)
    throw invalid(text, what, "it is not ISO 8601: P, then weeks and days, then T, hours, minutes, seconds");
  const [, years, months, ...rest] = match;
  if (years !== undefined || months !== undefined) throw invalid(text, what, VARYING_FLAW);
  const units: readonly Unit[] = ["w", "d", "h", "m", "s"];
  return units.flatMap((unit, index) => {
    const digits = rest[index];
    return digits === undefined ? [] : [{ digits: digits.replace(",", "."), unit }];
  });
}

/** Computes exactly, in billionths of a ms, and rounds up once at the end. */
function sumMs(parts: readonly Part[]): number {
  let billionths = 0n;
  for (const { digits, unit } of parts) {
    const [whole = "0", fraction = ""] = digits.split(".");
    billionths += BigInt(whole + fraction.padEnd(9, "0")) * BigInt(UNIT_MS[unit]);
  }
  return Number((billionths + 999_999_999n) / 1_000_000_000n);
}

function invalid(value: unknown, what: string, flaw: string): PawlError {
  return new PawlError("DURATION_INVALID", `${what} must be a duration: ${flaw}; got ${shortText(value)}`);
}

/** Formats a duration for messages by its two largest units: `2 d 3 h`, `1 min 30 s`, `1.5 s`, `250 ms`. Rounds down. */
export function durationText(ms: number): string {
  if (!(ms >= 1_000)) return `${Math.floor(ms)} ms`;
  if (ms < 60_000) return `${Math.floor(ms / 100) / 10} s`;
  const units: readonly Unit[] = ["d", "h", "m", "s"];
  const first = units.findIndex((unit) => ms >= UNIT_MS[unit]);
  const large = units[first] as Unit;
  const small = units[first + 1] as Unit;
  const rest = Math.floor((ms % UNIT_MS[large]) / UNIT_MS[small]);
  const text = `${Math.floor(ms / UNIT_MS[large])} ${shown(large)}`;
  return rest === 0 ? text : `${text} ${rest} ${shown(small)}`;
}

/** `m` could be read as meters or months. */
function shown(unit: Unit): string {
  return unit === "m" ? "min" : unit;
}
