import { parseDate, parseDateTime, parseDuration, parseTime } from "./temporal-text.ts";
import type { FeelValue } from "./value.ts";

/**
 * A date, time, date and time or duration from its text, to be given as a variable: JSON has none of them. Null where the text is
 * nothing of the kind.
 */
export function temporal(text: string): FeelValue {
  const moment = text.includes("T") ? parseDateTime(text) : null;
  return parseDate(text) ?? moment ?? parseTime(text) ?? parseDuration(text);
}
