import { kinds, readArgument } from "pawl";
import { dayOf, daysOf, isRegion, monthDays, YEAR_MAX } from "./calendar.ts";
import {
  type DaysDuration,
  type FeelDate,
  type FeelDateTime,
  type FeelTime,
  type FeelValue,
  KIND,
  type MonthsDuration,
  type Zone,
} from "./value.ts";

const DATE = /^(-?(?:[1-9]\d{4,8}|\d{4}))-(\d\d)-(\d\d)$/;
const TIME = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|z|[+-]\d\d:\d\d(?::\d\d)?|@[A-Za-z].*)?$/;
const MONTHS = /^(-)?P(?:(\d+)Y)?(?:(\d+)M)?$/;
const DAYS = /^(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d*))?S)?)?$/;
const OFFSET_MAX = 18 * 3600;
export const NANOS = 1_000_000_000n;

export function dateOf(year: number, month: number, day: number): FeelDate | null {
  if (![year, month, day].every(Number.isInteger) || Math.abs(year) > YEAR_MAX) return null;
  if (month < 1 || month > 12 || day < 1 || day > monthDays(year, month)) return null;
  return { [KIND]: "date", year, month, day };
}

export function timeOf(fields: Omit<FeelTime, typeof KIND>): FeelTime | null {
  const { hour, minute, second } = fields;
  if (![hour, minute, second].every(Number.isInteger)) return null;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return null;
  return { [KIND]: "time", ...fields };
}

export function dateTimeOf(date: FeelDate, time: FeelTime): FeelDateTime {
  return { [KIND]: "date and time", date, time };
}

export function daysDuration(nanos: bigint): DaysDuration {
  return { [KIND]: "days and time duration", nanos };
}

export function monthsDuration(months: number): MonthsDuration {
  return { [KIND]: "years and months duration", months: months === 0 ? 0 : months };
}

export function midnight(zone: Zone | null): FeelTime {
  return { [KIND]: "time", hour: 0, minute: 0, second: 0, nano: 0, zone };
}

export function parseDate(text: string): FeelDate | null {
  const found = DATE.exec(text);
  return found === null ? null : dateOf(Number(found[1]), Number(found[2]), Number(found[3]));
}

function parseZone(text: string | undefined): Zone | null | "invalid" {
  if (text === undefined) return null;
  if (text === "Z" || text === "z") return { kind: "offset", seconds: 0 };
  if (text.startsWith("@")) return isRegion(text.slice(1)) ? { kind: "region", id: text.slice(1) } : "invalid";
  const [hours = 0, minutes = 0, seconds = 0] = text.slice(1).split(":").map(Number);
  const size = hours * 3600 + minutes * 60 + seconds;
  if (size > OFFSET_MAX || minutes > 59 || seconds > 59) return "invalid";
  return { kind: "offset", seconds: text.startsWith("-") && size > 0 ? -size : size };
}

/** `days` is 1 for `24:00:00`, the midnight at the end of a day. */
function parseClock(text: string): { readonly time: FeelTime; readonly days: number } | null {
  const found = TIME.exec(text);
  if (found === null || found[3] === undefined) return null;
  const zone = parseZone(found[5]);
  if (zone === "invalid") return null;
  const [hour, minute, second] = [Number(found[1]), Number(found[2]), Number(found[3])];
  const nano = Number((found[4] ?? "").slice(0, 9).padEnd(9, "0"));
  if (hour === 24 && minute === 0 && second === 0 && nano === 0) return { time: midnight(zone), days: 1 };
  const time = timeOf({ hour, minute, second, nano, zone });
  return time === null ? null : { time, days: 0 };
}

export function parseTime(text: string): FeelTime | null {
  return parseClock(text)?.time ?? null;
}

/** A date without a time means its midnight. */
export function parseDateTime(text: string): FeelDateTime | null {
  const split = text.indexOf("T");
  const date = parseDate(split === -1 ? text : text.slice(0, split));
  if (date === null) return null;
  if (split === -1) return dateTimeOf(date, midnight(null));
  const clock = parseClock(text.slice(split + 1));
  if (clock === null) return null;
  return dateTimeOf(clock.days === 0 ? date : dateAfter(date, clock.days), clock.time);
}

export function dateAfter(date: FeelDate, days: number): FeelDate {
  return { [KIND]: "date", ...dayOf(daysOf(date.year, date.month, date.day) + days) };
}

export function parseDuration(text: string): DaysDuration | MonthsDuration | null {
  const months = MONTHS.exec(text);
  if (months !== null && (months[2] ?? months[3]) !== undefined) {
    const size = Number(months[2] ?? 0) * 12 + Number(months[3] ?? 0);
    return Number.isSafeInteger(size) ? monthsDuration(months[1] === undefined ? size : -size) : null;
  }
  const found = DAYS.exec(text);
  if (found === null || found.slice(2, 6).every((part) => part === undefined) || text.endsWith("T")) return null;
  const [, sign, days, hours, minutes, seconds, fraction] = found;
  const whole =
    BigInt(days ?? 0) * 86_400n + BigInt(hours ?? 0) * 3600n + BigInt(minutes ?? 0) * 60n + BigInt(seconds ?? 0);
  const nanos = whole * NANOS + BigInt((fraction ?? "").slice(0, 9).padEnd(9, "0"));
  return daysDuration(sign === undefined ? nanos : -nanos);
}

const two = (value: number): string => String(value).padStart(2, "0");

export function dateText({ year, month, day }: FeelDate): string {
  return `${year < 0 ? "-" : ""}${String(Math.abs(year)).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

export function zoneText(zone: Zone | null): string {
  if (zone === null) return "";
  if (zone.kind === "region") return `@${zone.id}`;
  if (zone.seconds === 0) return "Z";
  const size = Math.abs(zone.seconds);
  const seconds = size % 60 === 0 ? "" : `:${two(size % 60)}`;
  return `${zone.seconds < 0 ? "-" : "+"}${two(Math.floor(size / 3600))}:${two(Math.floor(size / 60) % 60)}${seconds}`;
}

export function timeText({ hour, minute, second, nano, zone }: FeelTime): string {
  return `${two(hour)}:${two(minute)}:${two(second)}${fractionText(nano)}${zoneText(zone)}`;
}

function fractionText(nano: number): string {
  return nano === 0 ? "" : `.${String(nano).padStart(9, "0").replace(/0+$/, "")}`;
}

export function dateTimeText({ date, time }: FeelDateTime): string {
  return `${dateText(date)}T${timeText(time)}`;
}

export function durationText(duration: DaysDuration | MonthsDuration): string {
  return duration[KIND] === "years and months duration" ? monthsText(duration.months) : daysText(duration.nanos);
}

function monthsText(months: number): string {
  const size = Math.abs(months);
  const years = Math.floor(size / 12);
  const rest = size % 12;
  const text = `${years > 0 ? `${years}Y` : ""}${rest > 0 || years === 0 ? `${rest}M` : ""}`;
  return `${months < 0 ? "-" : ""}P${text}`;
}

function daysText(nanos: bigint): string {
  if (nanos === 0n) return "PT0S";
  const size = nanos < 0n ? -nanos : nanos;
  const seconds = size / NANOS;
  const parts = { days: seconds / 86_400n, hours: (seconds / 3600n) % 24n, minutes: (seconds / 60n) % 60n };
  const second = `${seconds % 60n}${fractionText(Number(size % NANOS))}`;
  const clock = `${parts.hours > 0n ? `${parts.hours}H` : ""}${parts.minutes > 0n ? `${parts.minutes}M` : ""}${second === "0" ? "" : `${second}S`}`;
  return `${nanos < 0n ? "-" : ""}P${parts.days > 0n ? `${parts.days}D` : ""}${clock === "" ? "" : `T${clock}`}`;
}

/**
 * Parses a date, time, date and time or duration, to be passed as a variable: JSON has none of them. Null if the text is none of
 * them.
 */
export function temporal(text: string): FeelValue {
  readArgument(kinds.text, text, "text");
  const moment = text.includes("T") ? parseDateTime(text) : null;
  return parseDate(text) ?? moment ?? parseTime(text) ?? parseDuration(text);
}
