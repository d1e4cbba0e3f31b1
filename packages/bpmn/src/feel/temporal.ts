import { dayOf, daysOf, monthDays, offsetAt, offsetAtLocal, weekday, YEAR_MAX } from "./calendar.ts";
import { dateAfter, dateTimeOf, daysDuration, midnight, monthsDuration, NANOS, zoneText } from "./temporal-text.ts";
import {
  type DaysDuration,
  type FeelDate,
  type FeelDateTime,
  type FeelTime,
  type FeelValue,
  isKind,
  KIND,
  type MonthsDuration,
  type Zone,
} from "./value.ts";

/** Arithmetic of dates, times and durations. */

const DAY_NANOS = 86_400n * NANOS;

export function epochDays(date: FeelDate): number {
  return daysOf(date.year, date.month, date.day);
}

export function clockNanos(time: FeelTime): bigint {
  return BigInt(time.hour * 3600 + time.minute * 60 + time.second) * NANOS + BigInt(time.nano);
}

/** Nanoseconds since 1970 in local time. */
export function localNanos({ date, time }: FeelDateTime): bigint {
  return BigInt(epochDays(date)) * DAY_NANOS + clockNanos(time);
}

/** Nanoseconds since 1970 in UTC. A moment without a zone counts as UTC. */
export function instant(moment: FeelDateTime): bigint {
  const local = localNanos(moment);
  const { zone } = moment.time;
  if (zone === null) return local;
  return local - BigInt(offsetAtLocal(zone, Number(floorDiv(local, NANOS)))) * NANOS;
}

export function momentAt(utcNanos: bigint, zone: Zone | null): FeelDateTime | null {
  const offset = zone === null ? 0 : offsetAt(zone, Number(floorDiv(utcNanos, NANOS)));
  const local = utcNanos + BigInt(offset) * NANOS;
  const day = dayOf(Number(floorDiv(local, DAY_NANOS)));
  if (Math.abs(day.year) > YEAR_MAX) return null;
  return dateTimeOf({ [KIND]: "date", ...day }, clockAt(local, zone));
}

function clockAt(nanos: bigint, zone: Zone | null): FeelTime {
  const ofDay = nanos - floorDiv(nanos, DAY_NANOS) * DAY_NANOS;
  const seconds = Number(ofDay / NANOS);
  return {
    [KIND]: "time",
    hour: Math.floor(seconds / 3600),
    minute: Math.floor(seconds / 60) % 60,
    second: seconds % 60,
    nano: Number(ofDay % NANOS),
    zone,
  };
}

/** Nanoseconds since midnight in UTC, or in local time if there is no zone. */
export function timeNanos(time: FeelTime): bigint {
  return clockNanos(time) - BigInt(time.zone === null ? 0 : offsetAtLocal(time.zone, 0)) * NANOS;
}

/** Converts a date to its midnight in UTC. Null if the value is neither a date nor a date and time. */
export function asMoment(value: FeelValue): FeelDateTime | null {
  if (isKind(value, "date and time")) return value;
  return isKind(value, "date") ? dateTimeOf(value, midnight({ kind: "offset", seconds: 0 })) : null;
}

function plusMonths(date: FeelDate, months: number): FeelDate | null {
  const total = date.year * 12 + date.month - 1 + months;
  const year = Math.floor(total / 12);
  if (Math.abs(year) > YEAR_MAX) return null;
  const month = total - year * 12 + 1;
  return { [KIND]: "date", year, month, day: Math.min(date.day, monthDays(year, month)) };
}

export function plusDuration(
  value: FeelDate | FeelTime | FeelDateTime,
  duration: DaysDuration | MonthsDuration,
): FeelValue {
  if (duration[KIND] === "years and months duration") {
    if (value[KIND] === "time") return null;
    if (value[KIND] === "date") return plusMonths(value, duration.months);
    const date = plusMonths(value.date, duration.months);
    return date === null ? null : dateTimeOf(date, value.time);
  }
  switch (value[KIND]) {
    case "date":
      return withinYears(dateAfter(value, Number(floorDiv(duration.nanos, DAY_NANOS))));
    case "time":
      return clockAt(clockNanos(value) + duration.nanos, value.zone);
    case "date and time":
      return momentAt(instant(value) + duration.nanos, value.time.zone);
  }
}

function withinYears(date: FeelDate): FeelDate | null {
  return Math.abs(date.year) > YEAR_MAX ? null : date;
}

export function negated(duration: DaysDuration | MonthsDuration): DaysDuration | MonthsDuration {
  if (duration[KIND] === "years and months duration") return monthsDuration(-duration.months);
  return daysDuration(-duration.nanos);
}

/** The difference in nanoseconds. Null if only one of the two has a zone. */
export function between(left: FeelDateTime | FeelTime, right: FeelDateTime | FeelTime): bigint | null {
  const isTime = left[KIND] === "time";
  if (isTime !== (right[KIND] === "time")) return null;
  if (left[KIND] === "time" && right[KIND] === "time") {
    return (left.zone === null) === (right.zone === null) ? timeNanos(left) - timeNanos(right) : null;
  }
  if (left[KIND] === "time" || right[KIND] === "time") return null;
  return (left.time.zone === null) === (right.time.zone === null) ? instant(left) - instant(right) : null;
}

/** Whole months between two dates, as in `years and months duration`. */
export function monthsBetween(from: FeelDate, to: FeelDate): number {
  const months = (to.year - from.year) * 12 + to.month - from.month;
  if (months > 0 && to.day < from.day) return months - 1;
  return months < 0 && to.day > from.day ? months + 1 : months;
}

export function propertyOf(value: FeelValue, name: string): FeelValue | undefined {
  if (isKind(value, "date")) return dateProperty(value, name);
  if (isKind(value, "time")) return timeProperty(value, name);
  if (isKind(value, "date and time")) return dateProperty(value.date, name) ?? timeProperty(value.time, name, value);
  if (isKind(value, "years and months duration")) {
    if (name === "years") return Math.trunc(value.months / 12) + 0;
    return name === "months" ? (value.months % 12) + 0 : undefined;
  }
  return isKind(value, "days and time duration") ? daysProperty(value.nanos, name) : undefined;
}

function dateProperty(date: FeelDate, name: string): FeelValue | undefined {
  if (name === "year" || name === "month" || name === "day") return date[name];
  return name === "weekday" ? weekday(epochDays(date)) : undefined;
}

function timeProperty(time: FeelTime, name: string, moment?: FeelDateTime): FeelValue | undefined {
  switch (name) {
    case "hour":
    case "minute":
      return time[name];
    case "second":
      return time.second + time.nano / 1e9;
    case "timezone":
      if (time.zone === null) return null;
      return time.zone.kind === "region" ? time.zone.id : zoneText(time.zone);
    case "time offset": {
      if (time.zone === null) return null;
      const local = moment === undefined ? 0 : Number(floorDiv(localNanos(moment), NANOS));
      return daysDuration(BigInt(offsetAtLocal(time.zone, local)) * NANOS);
    }
    default:
      return undefined;
  }
}

function daysProperty(nanos: bigint, name: string): FeelValue | undefined {
  const seconds = nanos / NANOS;
  switch (name) {
    case "days":
      return Number(seconds / 86_400n);
    case "hours":
      return Number((seconds / 3600n) % 24n);
    case "minutes":
      return Number((seconds / 60n) % 60n);
    case "seconds":
      return Number(seconds % 60n) + Number(nanos % NANOS) / 1e9;
    default:
      return undefined;
  }
}

function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}
