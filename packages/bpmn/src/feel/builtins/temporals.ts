import { monthDays, weekday } from "../calendar.ts";
import type { Evaluation } from "../evaluation.ts";
import { epochDays, momentAt } from "../temporal.ts";
import { dateOf } from "../temporal-text.ts";
import { type FeelDate, type FeelDateTime, type FeelValue, isKind, KIND } from "../value.ts";
import { signature } from "./signature.ts";

const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];

export const TEMPORAL_FUNCTIONS = [
  signature("now()", (_, run) => nowOf(run)),
  signature("today()", (_, run) => nowOf(run)?.date ?? null),
  signature("day of year(date: day)", ([date = null]) => dayOfYear(dayOf(date))),
  signature("day of week(date: day)", ([date = null]) => DAYS[weekday(epochDays(dayOf(date))) - 1] ?? null),
  signature("month of year(date: day)", ([date = null]) => MONTHS[dayOf(date).month - 1] ?? null),
  signature("week of year(date: day)", ([date = null]) => weekOfYear(dayOf(date))),
  signature("last day of month(date: day)", ([value = null]) => {
    const { year, month } = dayOf(value);
    return dateOf(year, month, monthDays(year, month));
  }),
];

const dayOf = (value: FeelValue): FeelDate => (isKind(value, "date and time") ? value.date : (value as FeelDate));

function dayOfYear(date: FeelDate): number {
  return epochDays(date) - epochDays({ [KIND]: "date", year: date.year, month: 1, day: 1 }) + 1;
}

/** The ISO 8601 week number. A week belongs to the year that contains its Thursday. */
function weekOfYear(date: FeelDate): number {
  const week = Math.floor((dayOfYear(date) - weekday(epochDays(date)) + 10) / 7);
  if (week < 1) return weekOfYear({ ...date, year: date.year - 1, month: 12, day: 31 });
  if (week < 53) return week;
  const newYear = weekday(epochDays({ [KIND]: "date", year: date.year + 1, month: 1, day: 1 }));
  return newYear <= 4 ? 1 : 53;
}

function nowOf(run: Evaluation): FeelDateTime | null {
  const { now } = run.world;
  return now === undefined ? null : momentAt(BigInt(Math.trunc(now)) * 1_000_000n, { kind: "offset", seconds: 0 });
}
