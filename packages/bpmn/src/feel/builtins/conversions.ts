import { isRegion } from "../calendar.ts";
import { monthsBetween } from "../temporal.ts";
import {
  dateOf,
  dateTimeOf,
  midnight,
  monthsDuration,
  NANOS,
  parseDate,
  parseDateTime,
  parseDuration,
  parseTime,
  timeOf,
} from "../temporal-text.ts";
import { textOf } from "../text.ts";
import { type FeelDate, type FeelDateTime, type FeelTime, type FeelValue, isKind, type Zone } from "../value.ts";
import { signature } from "./signature.ts";

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const SEPARATORS = [" ", ",", "."];

export const CONVERSIONS = [
  signature("date(from: string)", ([text]) => parseDate(text as string)),
  signature("date(from: day)", ([value = null]) => dayOf(value)),
  signature("date(year: number, month: number, day: number)", ([year, month, day]) =>
    dateOf(year as number, month as number, day as number),
  ),
  signature("time(from: string)", ([text]) => parseTime(text as string)),
  signature("time(from: clock)", ([value = null]) => (isKind(value, "date and time") ? value.time : value)),
  signature("time(from: date)", () => midnight({ kind: "offset", seconds: 0 })),
  signature(
    "time(hour: number, minute: number, second: number, offset?: any)",
    ([hour, minute, second, offset = null]) => timeFrom(hour as number, minute as number, second as number, offset),
  ),
  signature("date and time(from: string)", ([text]) => parseDateTime(text as string)),
  signature("date and time(from: date and time)", ([value = null]) => value),
  signature("date and time(date: day, time: time)", ([date = null, time]) => momentOf(date, time as FeelTime)),
  signature("date and time(date: day, time: time, timezone: string)", ([date = null, time, zone]) =>
    inZone(date, time as FeelTime, zone as string),
  ),
  signature("duration(from: string)", ([text]) => parseDuration(text as string)),
  signature("duration(from: duration)", ([value = null]) => value),
  signature("years and months duration(from: day, to: day)", ([from = null, to = null]) =>
    monthsDuration(monthsBetween(dayOf(from), dayOf(to))),
  ),
  signature("number(from: string, grouping separator?: string?, decimal separator?: string?)", (args) =>
    numberFrom(...(args as [string, string | null, string | null])),
  ),
  signature("number(from: number)", ([value = null]) => value),
  signature("string(from: any)", ([value = null], run) => {
    const text = textOf(value);
    run.grow(text?.length ?? 0);
    return text;
  }),
];

function numberFrom(text: string, grouping: string | null, point: string | null): FeelValue {
  if (grouping !== null && !SEPARATORS.includes(grouping)) return null;
  if (point !== null && (![",", "."].includes(point) || point === grouping)) return null;
  const ungrouped = grouping === null ? text : text.split(grouping).join("");
  const plain = point === null ? ungrouped : ungrouped.split(point).join(".");
  const value = NUMBER.test(plain) ? Number(plain) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

function timeFrom(hour: number, minute: number, second: number, offset: FeelValue): FeelValue {
  const whole = Math.floor(second);
  const nano = Math.round((second - whole) * 1e9);
  if (offset === null) return timeOf({ hour, minute, second: whole, nano, zone: null });
  if (!isKind(offset, "days and time duration")) return null;
  const seconds = Number(offset.nanos / NANOS);
  if (Math.abs(seconds) > 18 * 3600) return null;
  return timeOf({ hour, minute, second: whole, nano, zone: { kind: "offset", seconds } });
}

const dayOf = (value: FeelValue): FeelDate => (isKind(value, "date and time") ? value.date : (value as FeelDate));

/** Combines a date and a time. Of a date and time, only the date is used. */
function momentOf(date: FeelValue, time: FeelTime): FeelDateTime {
  return dateTimeOf(dayOf(date), time);
}

function inZone(date: FeelValue, time: FeelTime, id: string): FeelValue {
  const zone: Zone | null = isRegion(id) ? { kind: "region", id } : null;
  return zone === null ? null : momentOf(date, { ...time, zone });
}
