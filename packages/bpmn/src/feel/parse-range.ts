import { order } from "./compare.ts";
import { parseDate, parseDateTime, parseDuration, parseTime } from "./temporal-text.ts";
import { type FeelRange, type FeelValue, rangeOf } from "./value.ts";

const RANGE = /^\s*([[(\]])(.*?)\.\.(.*)([\])[])\s*$/s;
const STRING = /^"((?:[^"\\]|\\.)*)"$/;
const CALL = /^(date|time|date and time|duration)\s*\(\s*"([^"]*)"\s*\)$/;

/** Parses the argument of the function `range`. Its bounds are literals, never expressions. Null if the text is not a range. */
export function parseRange(text: string): FeelRange | null {
  const found = RANGE.exec(text);
  if (found === null) return null;
  const [, open, low = "", high = "", close] = found;
  const start = endpoint(low.trim());
  const end = endpoint(high.trim());
  if (start === undefined || end === undefined || (start === null && end === null)) return null;
  const [startIncluded, endIncluded] = [open === "[", close === "]"];
  if ((start === null && startIncluded) || (end === null && endIncluded)) return null;
  const ordered = start === null || end === null ? -1 : order(start, end);
  if (ordered === null || ordered > 0) return null;
  return rangeOf(start, end, { start: startIncluded, end: endIncluded });
}

function endpoint(text: string): FeelValue | undefined {
  if (text === "" || text === "null") return null;
  if (/^-?(?:\d+(?:\.\d+)?|\.\d+)$/.test(text)) return Number(text);
  const string = STRING.exec(text)?.[1];
  if (string !== undefined) return string.replace(/\\(.)/g, "$1");
  const at = text.startsWith("@") ? STRING.exec(text.slice(1))?.[1] : undefined;
  if (at !== undefined)
    return (
      parseDate(at) ?? (at.includes("T") ? parseDateTime(at) : null) ?? parseTime(at) ?? parseDuration(at) ?? undefined
    );
  const call = CALL.exec(text);
  return call === null ? undefined : (called(call[1] ?? "", call[2] ?? "") ?? undefined);
}

function called(name: string, text: string): FeelValue {
  if (name === "date") return parseDate(text);
  if (name === "time") return parseTime(text);
  return name === "duration" ? parseDuration(text) : parseDateTime(text);
}
