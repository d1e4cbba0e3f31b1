import { decimal } from "./decimal.ts";
import { asMoment, between, epochDays, negated, plusDuration } from "./temporal.ts";
import { daysDuration, monthsDuration, NANOS } from "./temporal-text.ts";
import { type DaysDuration, type FeelValue, isKind, KIND, type MonthsDuration } from "./value.ts";

type Duration = DaysDuration | MonthsDuration;

/** Null if FEEL defines no sum of the two kinds. */
export function sum(left: FeelValue, right: FeelValue): FeelValue {
  if (typeof left === "number" && typeof right === "number") return decimal(left + right);
  if (typeof left === "string" && typeof right === "string") return left + right;
  if (isDuration(left)) {
    if (isDuration(right)) return sumOfDurations(left, right);
    return isMoment(right) ? plusDuration(right, left) : null;
  }
  return isMoment(left) && isDuration(right) ? plusDuration(left, right) : null;
}

function sumOfDurations(left: Duration, right: Duration): FeelValue {
  if (left[KIND] === "years and months duration") {
    return right[KIND] === "years and months duration" ? monthsDuration(left.months + right.months) : null;
  }
  return right[KIND] === "days and time duration" ? daysDuration(left.nanos + right.nanos) : null;
}

export function difference(left: FeelValue, right: FeelValue): FeelValue {
  if (typeof left === "number" && typeof right === "number") return decimal(left - right);
  if (isDuration(right)) return isDuration(left) || isMoment(left) ? sum(left, negated(right)) : null;
  if (isKind(left, "time") && isKind(right, "time")) return spanOf(between(left, right));
  if (isKind(left, "date") && isKind(right, "date")) {
    return daysDuration(BigInt(epochDays(left) - epochDays(right)) * 86_400n * NANOS);
  }
  const [from, to] = [asMoment(left), asMoment(right)];
  return from === null || to === null ? null : spanOf(between(from, to));
}

function spanOf(nanos: bigint | null): FeelValue {
  return nanos === null ? null : daysDuration(nanos);
}

export function product(left: FeelValue, right: FeelValue): FeelValue {
  if (typeof right !== "number") return typeof left === "number" && isDuration(right) ? times(right, left) : null;
  if (typeof left === "number") return decimal(left * right);
  return isDuration(left) ? times(left, right) : null;
}

function times(duration: Duration, factor: number): FeelValue {
  if (duration[KIND] === "years and months duration") return monthsOf(duration.months * factor);
  if (Number.isSafeInteger(factor)) return daysDuration(duration.nanos * BigInt(factor));
  return nanosOf(Number(duration.nanos) * factor);
}

function monthsOf(months: number): FeelValue {
  const whole = Math.trunc(decimal(months) ?? Number.NaN);
  return Number.isSafeInteger(whole) ? monthsDuration(whole) : null;
}

function nanosOf(nanos: number): FeelValue {
  return Number.isFinite(nanos) ? daysDuration(BigInt(Math.round(nanos))) : null;
}

export function quotient(left: FeelValue, right: FeelValue): FeelValue {
  if (typeof right === "number") {
    if (right === 0) return null;
    if (typeof left === "number") return decimal(left / right);
    if (isKind(left, "years and months duration")) return monthsOf(left.months / right);
    return isKind(left, "days and time duration") ? nanosOf(Number(left.nanos) / right) : null;
  }
  if (isKind(left, "years and months duration") && isKind(right, "years and months duration")) {
    return decimal(left.months / right.months);
  }
  if (isKind(left, "days and time duration") && isKind(right, "days and time duration")) {
    return decimal(Number(left.nanos) / Number(right.nanos));
  }
  return null;
}

export function power(left: FeelValue, right: FeelValue): FeelValue {
  return typeof left === "number" && typeof right === "number" ? decimal(left ** right) : null;
}

export function negative(value: FeelValue): FeelValue {
  if (typeof value === "number") return value === 0 ? 0 : -value;
  return isDuration(value) ? negated(value) : null;
}

function isDuration(value: FeelValue): value is Duration {
  return isKind(value, "days and time duration") || isKind(value, "years and months duration");
}

function isMoment(value: FeelValue): value is Parameters<typeof plusDuration>[0] {
  return isKind(value, "date") || isKind(value, "time") || isKind(value, "date and time");
}
