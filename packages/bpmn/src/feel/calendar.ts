import type { Zone } from "./value.ts";

/** The ISO 8601 calendar, for years outside the range of `Date`. */

export const YEAR_MAX = 999_999_999;
const DAYS_OF_400_YEARS = 146_097;

/** Days since 1970-01-01. */
export function daysOf(year: number, month: number, day: number): number {
  // Years start in March here, so the leap day is the last day of a year.
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_OF_400_YEARS + dayOfEra - 719_468;
}

export function dayOf(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / DAYS_OF_400_YEARS);
  const dayOfEra = shifted - era * DAYS_OF_400_YEARS;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthIndex = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthIndex + 2) / 5) + 1;
  const month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

export function monthDays(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Monday is 1, Sunday 7. */
export function weekday(days: number): number {
  return ((((days + 3) % 7) + 7) % 7) + 1;
}

const formats = new Map<string, Intl.DateTimeFormat | null>();
const FORMATS_MAX = 600;

function formatOf(id: string): Intl.DateTimeFormat | null {
  const known = formats.get(id);
  if (known !== undefined) return known;
  let format: Intl.DateTimeFormat | null;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone: id, timeZoneName: "longOffset" });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    format = null;
  }
  if (formats.size < FORMATS_MAX) formats.set(id, format);
  return format;
}

export function isRegion(id: string): boolean {
  return /^[A-Za-z]/.test(id) && formatOf(id) !== null;
}

/** Offset from UTC in seconds when the local time of the zone is `localSeconds` since 1970. */
export function offsetAtLocal(zone: Zone, localSeconds: number): number {
  if (zone.kind === "offset") return zone.seconds;
  const guess = offsetAt(zone, localSeconds);
  return offsetAt(zone, localSeconds - guess);
}

export function offsetAt(zone: Zone, utcSeconds: number): number {
  if (zone.kind === "offset") return zone.seconds;
  const name = formatOf(zone.id)
    ?.formatToParts(withinDate(utcSeconds) * 1000)
    .find((part) => part.type === "timeZoneName")?.value;
  const found = /([+-])(\d\d):?(\d\d)?(?::(\d\d))?$/.exec(name ?? "");
  if (found === null) return 0;
  const [, sign, hours, minutes, seconds] = found;
  const size = Number(hours) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  return sign === "-" ? -size : size;
}

/** Moves a moment outside the range of `Date` into it by multiples of 400 years. The calendar, and so the zone rules, repeat then. */
function withinDate(seconds: number): number {
  const span = DAYS_OF_400_YEARS * 86_400;
  const limit = 8.6e12 - span;
  if (Math.abs(seconds) <= limit) return Math.floor(seconds);
  const far = Math.ceil((Math.abs(seconds) - limit) / span);
  return Math.floor(seconds - Math.sign(seconds) * far * span);
}
