import { between, clockNanos, epochDays, instant, localNanos, timeNanos } from "./temporal.ts";
import {
  entryOf,
  type FeelContext,
  type FeelRange,
  type FeelTime,
  type FeelValue,
  isContext,
  isKind,
  isList,
  kindOf,
} from "./value.ts";

/** Null if the kinds differ and neither value is null. */
export function equal(left: FeelValue, right: FeelValue): boolean | null {
  if (left === null || right === null) return left === right;
  if (kindOf(left) !== kindOf(right)) return null;
  if (typeof left !== "object") return left === right;
  if (isList(left) && isList(right)) {
    return left.length === right.length && left.every((item, i) => equal(item, right[i] ?? null) === true);
  }
  if (isContext(left) && isContext(right)) return equalContexts(left, right);
  if (isKind(left, "range") && isKind(right, "range")) return equalRanges(left, right);
  if (isKind(left, "function")) return left === right;
  return order(left, right) === 0;
}

function equalContexts(left: FeelContext, right: FeelContext): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => {
    const other = entryOf(right, name);
    return other !== undefined && equal(entryOf(left, name) ?? null, other) === true;
  });
}

function equalRanges(left: FeelRange, right: FeelRange): boolean {
  return (
    left.startIncluded === right.startIncluded &&
    left.endIncluded === right.endIncluded &&
    equal(left.start, right.start) === true &&
    equal(left.end, right.end) === true
  );
}

/** Negative, zero or positive. Null if the two values are not comparable. */
export function order(left: FeelValue, right: FeelValue): number | null {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return orderOfText(left, right);
  if (isKind(left, "date") && isKind(right, "date")) return epochDays(left) - epochDays(right);
  if (isKind(left, "time") && isKind(right, "time")) return sign(between(left, right));
  if (isKind(left, "date and time") && isKind(right, "date and time")) return sign(between(left, right));
  if (isKind(left, "days and time duration") && isKind(right, "days and time duration")) {
    return sign(left.nanos - right.nanos);
  }
  if (isKind(left, "years and months duration") && isKind(right, "years and months duration")) {
    return left.months - right.months;
  }
  return null;
}

function sign(difference: bigint | null): number | null {
  if (difference === null) return null;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Compares by code point. JavaScript compares UTF-16 units, which sorts supplementary characters before U+E000 to U+FFFF. */
function orderOfText(left: string, right: string): number {
  if (left === right) return 0;
  const a = [...left];
  const b = [...right];
  const at = a.findIndex((char, i) => char !== b[i]);
  if (at === -1) return -1;
  return (a[at]?.codePointAt(0) ?? 0) - (b[at]?.codePointAt(0) ?? -1);
}

/** Whether the range contains the value. Null if they are not comparable, or if a bound of the range is unknown. */
export function within(value: FeelValue, range: FeelRange): boolean | null {
  if (range.hasUnknownBound === true) return null;
  const low = range.start === null ? 1 : order(value, range.start);
  const high = range.end === null ? -1 : order(value, range.end);
  if (low === null || high === null) return null;
  if (range.start === null && range.end === null) return false;
  return (low > 0 || (low === 0 && range.startIncluded)) && (high < 0 || (high === 0 && range.endIncluded));
}

/** The function `is`: the same kind, the same clock and the same offset from UTC, whatever names the zone. */
export function identical(left: FeelValue, right: FeelValue): boolean {
  if (isKind(left, "time") && isKind(right, "time")) {
    return (
      isZoned(left) === isZoned(right) && clockNanos(left) === clockNanos(right) && timeNanos(left) === timeNanos(right)
    );
  }
  if (isKind(left, "date and time") && isKind(right, "date and time")) {
    const isSameClock = isZoned(left.time) === isZoned(right.time) && localNanos(left) === localNanos(right);
    return isSameClock && instant(left) === instant(right);
  }
  return kindOf(left) === kindOf(right) && equal(left, right) === true;
}

function isZoned({ zone }: FeelTime): boolean {
  return zone !== null;
}
