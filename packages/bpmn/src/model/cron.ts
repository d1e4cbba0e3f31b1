import { dayOf, daysOf, isRegion, monthDays, offsetAt, offsetAtLocal, weekday } from "../feel/calendar.ts";
import type { Zone } from "../feel/value.ts";

/**
 * Cron expressions with six fields, as Camunda 8 reads them: second, minute, hour, day of month, month, day of week. A zone may
 * stand in front: `TZ=Europe/Berlin 0 0 9 * * MON-FRI`. Without one, times are UTC. Sunday is 0 or 7.
 */
export interface Cron {
  readonly zone: Zone;
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: ReadonlySet<number>;
  /** A day must meet both. */
  readonly dayOfMonth: DayTest;
  readonly dayOfWeek: DayTest;
}

interface Day {
  readonly month: number;
  readonly day: number;
  /** The number of days in its month. */
  readonly last: number;
  /** Monday is 1, Sunday 7. */
  readonly weekday: number;
}

type DayTest = (day: Day) => boolean;

const MACROS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 0 1 1 *",
  "@annually": "0 0 0 1 1 *",
  "@monthly": "0 0 0 1 * *",
  "@weekly": "0 0 0 * * 0",
  "@daily": "0 0 0 * * *",
  "@midnight": "0 0 0 * * *",
  "@hourly": "0 0 * * * *",
};
const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/** A day that occurs at all, such as February 29 on a certain weekday, occurs within this time. */
const DAYS_MAX = 41 * 366;
const DAY_SECONDS = 86_400;
/** Candidates that a change of the clock may repeat. */
const REPEATS_MAX = 3 * 3_600;

/** Null if the text is not a cron expression. */
export function parseCron(text: string): Cron | null {
  const [, region, rest = ""] = /^(?:(?:CRON_)?TZ=(\S+)\s+)?(.*)$/s.exec(text.trim()) ?? [];
  if (region !== undefined && !isRegion(region)) return null;
  const fields = (Object.hasOwn(MACROS, rest) ? (MACROS[rest] ?? "") : rest).toUpperCase().split(/\s+/);
  if (fields.length !== 6) return null;
  const [second = "", minute = "", hour = "", day = "", month = "", week = ""] = fields;
  const seconds = valuesOf(second, 0, 59);
  const minutes = valuesOf(minute, 0, 59);
  const hours = valuesOf(hour, 0, 23);
  const months = valuesOf(named(month, MONTHS, 1), 1, 12);
  const dayOfMonth = monthDayTest(day);
  const dayOfWeek = weekdayTest(named(week, WEEKDAYS, 0));
  if (seconds === null || minutes === null || hours === null || months === null) return null;
  if (dayOfMonth === null || dayOfWeek === null) return null;
  const zone: Zone = region === undefined ? { kind: "offset", seconds: 0 } : { kind: "region", id: region };
  return { zone, seconds, minutes, hours, months: new Set(months), dayOfMonth, dayOfWeek };
}

/**
 * The first time after `after`, in epoch ms. Null if there is none. A local time that the clock skips occurs after the change; one that
 * it repeats occurs once.
 */
export function nextCron(cron: Cron, after: number): number | null {
  const seconds = Math.floor(after / 1_000);
  let local: number | null = seconds + offsetAt(cron.zone, seconds);
  for (let i = 0; i < REPEATS_MAX; i += 1) {
    local = nextLocal(cron, local);
    if (local === null) return null;
    const at = (local - offsetAtLocal(cron.zone, local)) * 1_000;
    if (at > after) return at;
  }
  return null;
}

/** The first matching local time after `local`, both in seconds. */
function nextLocal(cron: Cron, local: number): number | null {
  const today = Math.floor(local / DAY_SECONDS);
  for (let days = today; days < today + DAYS_MAX; days += 1) {
    if (!isDay(cron, days)) continue;
    const time = firstTime(cron, days === today ? local - today * DAY_SECONDS : -1);
    if (time !== null) return days * DAY_SECONDS + time;
  }
  return null;
}

function isDay({ months, dayOfMonth, dayOfWeek }: Cron, days: number): boolean {
  const { year, month, day } = dayOf(days);
  if (!months.has(month)) return false;
  const tested = { month, day, last: monthDays(year, month), weekday: weekday(daysOf(year, month, day)) };
  return dayOfMonth(tested) && dayOfWeek(tested);
}

/** The first time of day after `after`, in seconds. */
function firstTime({ hours, minutes, seconds }: Cron, after: number): number | null {
  for (const hour of hours) {
    if (hour * 3_600 + 3_599 <= after) continue;
    for (const minute of minutes) {
      if (hour * 3_600 + minute * 60 + 59 <= after) continue;
      const found = seconds.find((second) => hour * 3_600 + minute * 60 + second > after);
      if (found !== undefined) return hour * 3_600 + minute * 60 + found;
    }
  }
  return null;
}

/** Replaces names by numbers. */
function named(field: string, names: readonly string[], first: number): string {
  return field.replace(/[A-Z]{3}/g, (name) => (names.includes(name) ? String(names.indexOf(name) + first) : name));
}

/** The values of a field, ascending: `*`, `?`, `5`, `1-5`, `0/15`, a step of all and lists of these. Null if it is not valid. */
function valuesOf(field: string, low: number, high: number): readonly number[] | null {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const found = /^(?:([*?])|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part);
    if (found === null) return null;
    const [, all, start, end, step] = found;
    const from = all === undefined ? Number(start) : low;
    const to = end === undefined ? (all !== undefined || step !== undefined ? high : from) : Number(end);
    const by = Number(step ?? 1);
    if (by < 1 || from < low || to > high || from > to) return null;
    for (let value = from; value <= to; value += by) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

/** Also `L`, the last day, `L-3`, `15W`, the nearest weekday, and `LW`, the last weekday. */
function monthDayTest(field: string): DayTest | null {
  const special = /^(?:L(?:-(\d{1,2}))?|(\d{1,2}|L)W)$/.exec(field);
  if (special === null) {
    const values = valuesOf(field, 1, 31);
    return values === null ? null : ({ day }) => values.includes(day);
  }
  const [, before, near] = special;
  if (near === undefined) return ({ day, last }) => day === last - Number(before ?? 0);
  if (near !== "L" && (Number(near) < 1 || Number(near) > 31)) return null;
  return (tested) => isNearestWeekday(tested, near === "L" ? tested.last : Number(near));
}

/** Monday to Friday, in the same month. */
function isNearestWeekday({ day, last, weekday: today }: Day, wanted: number): boolean {
  if (wanted > last || today > 5) return false;
  const ofWanted = ((today - 1 + wanted - day + 70) % 7) + 1;
  const shift = ofWanted === 6 ? (wanted === 1 ? 2 : -1) : ofWanted === 7 ? (wanted === last ? -2 : 1) : 0;
  return day === wanted + shift;
}

/** Also `5L`, the last Friday, and `1#2`, the second Monday. */
function weekdayTest(field: string): DayTest | null {
  const special = /^([0-7])(?:L|#([1-5]))$/.exec(field);
  if (special !== null) {
    const wanted = Number(special[1]) % 7;
    const nth = special[2];
    return ({ day, last, weekday: today }) =>
      today % 7 === wanted && (nth === undefined ? day + 7 > last : Math.ceil(day / 7) === Number(nth));
  }
  const values = valuesOf(field, 0, 7);
  if (values === null) return null;
  const days = new Set(values.map((value) => value % 7));
  return ({ weekday: today }) => days.has(today % 7);
}
