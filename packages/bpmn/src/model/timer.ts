import { type Cron, nextCron, parseCron } from "./cron.ts";

/** ISO 8601 for timers: dates, durations, and cycles `R[n]/[start/]duration[/end]`, or cron. UTC unless stated otherwise. */

export type ClockTime = "date" | "duration" | "cycle";

interface Duration {
  readonly months: number;
  readonly ms: number;
}

export type ParsedTimer =
  | { readonly kind: "cron"; readonly cron: Cron }
  | { readonly kind: "date"; readonly at: number }
  | { readonly kind: "duration"; readonly duration: Duration }
  /** `times` is null if it repeats without end. */
  | {
      readonly kind: "cycle";
      readonly times: number | null;
      readonly duration: Duration;
      readonly from: number | null;
      readonly until: number | null;
    };

const DURATION =
  /^(-)?P(?=[\dT])(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Returns null if the text is not of that kind. */
export function parseTimer(kind: ClockTime, text: string): ParsedTimer | null {
  const trimmed = text.trim();
  if (kind === "duration") {
    const duration = parseDuration(trimmed);
    return duration === null ? null : { kind, duration };
  }
  if (kind === "date") {
    const at = parseDate(trimmed);
    return at === null ? null : { kind, at };
  }
  const cron = trimmed.startsWith("R") ? null : parseCron(trimmed);
  return cron === null ? parseCycle(trimmed) : { kind: "cron", cron };
}

function nextOfCron(cron: Cron, after: number): { readonly at: number; readonly left: null } | null {
  const at = nextCron(cron, after);
  return at === null ? null : { at, left: null };
}

export function notATimer(kind: ClockTime, text: string): string {
  return `"${text}" is not an ISO 8601 ${kind}${kind === "cycle" ? ", and not a cron expression of six fields" : ""}`;
}

/** When a timer that starts at `now` is due first, and how often. Null if never. */
export function firstDue(
  timer: ParsedTimer,
  now: number,
): { readonly at: number; readonly left: number | null } | null {
  if (timer.kind === "cron") return nextOfCron(timer.cron, now);
  if (timer.kind === "date") return { at: timer.at, left: 1 };
  if (timer.kind === "duration") return { at: plus(now, timer.duration), left: 1 };
  if (timer.times === 0) return null;
  const at = timer.from ?? plus(now, timer.duration);
  return timer.until !== null && at > timer.until ? null : { at, left: timer.times };
}

/**
 * The next due time after `due`, counted from that time and not from when it was handled. `left` is the number of remaining
 * repetitions.
 */
export function nextDue(
  timer: ParsedTimer,
  due: { readonly at: number; readonly left: number | null },
): { readonly at: number; readonly left: number | null } | null {
  if (timer.kind === "cron") return nextOfCron(timer.cron, due.at);
  if (timer.kind !== "cycle") return null;
  const left = due.left === null ? null : due.left - 1;
  if (left !== null && left <= 0) return null;
  const at = plus(due.at, timer.duration);
  return timer.until !== null && at > timer.until ? null : { at, left };
}

function parseCycle(text: string): ParsedTimer | null {
  const parts = text.split("/");
  const times = /^R(\d*)$/.exec(parts[0] ?? "")?.[1];
  if (times === undefined || parts.length < 2 || parts.length > 4) return null;
  const index = parts.findIndex((part, i) => i > 0 && part.includes("P"));
  const duration = parseDuration(parts[index] ?? "");
  if (duration === null || index > 2 || (duration.ms <= 0 && duration.months <= 0)) return null;
  const from = index === 2 ? parseDate(parts[1] ?? "") : null;
  const end = parts[index + 1];
  const until = end === undefined ? null : parseDate(end);
  if ((index === 2 && from === null) || (end !== undefined && until === null)) return null;
  return { kind: "cycle", times: times === "" ? null : Number(times), duration, from, until };
}

function parseDate(text: string): number | null {
  if (!DATE.test(text)) return null;
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/.test(text);
  const at = Date.parse(text.includes("T") && !hasZone ? `${text}Z` : text);
  return Number.isNaN(at) ? null : at;
}

function parseDuration(text: string): Duration | null {
  const match = DURATION.exec(text);
  if (match === null) return null;
  const [years, months, weeks, days, hours, minutes] = match.slice(2, 8).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const seconds = Number((match[8] ?? "0").replace(",", "."));
  const sign = match[1] === "-" ? -1 : 1;
  const ms = weeks * 7 * DAY + days * DAY + hours * HOUR + minutes * 60_000 + Math.round(seconds * 1_000);
  return { months: sign * (years * 12 + months), ms: sign * ms };
}

/** Adds calendar months. A day that the month does not have becomes its last day. */
function plus(at: number, { months, ms }: Duration): number {
  if (months === 0) return at + ms;
  const date = new Date(at);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, last));
  return date.getTime() + ms;
}

/** The time limit of a task: milliseconds, or an ISO 8601 duration without months. Null if the text is neither. */
export function taskTimeoutMs(text: string): number | null {
  const timer = parseTimer("duration", text);
  const ms = timer?.kind === "duration" && timer.duration.months === 0 ? timer.duration.ms : Number(text);
  return Number.isSafeInteger(ms) && ms > 0 ? ms : null;
}
