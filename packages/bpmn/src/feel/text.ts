import { numberText } from "./decimal.ts";
import { dateText, dateTimeText, durationText, timeText } from "./temporal-text.ts";
import { type FeelValue, isContext, isKind, isList } from "./value.ts";

/** The result of the function `string`. Null for null and for functions. */
export function textOf(value: FeelValue): string | null {
  if (value === null || isKind(value, "function")) return null;
  return typeof value === "string" ? value : innerText(value);
}

/** The text of a value inside a list or context, where strings are quoted. */
function innerText(value: FeelValue): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null) return "null";
  if (typeof value === "number") return numberText(value);
  if (typeof value === "boolean") return String(value);
  if (isList(value)) return `[${value.map(innerText).join(", ")}]`;
  if (isContext(value)) {
    return `{${Object.entries(value)
      .map(([name, entry]) => `${name}: ${innerText(entry)}`)
      .join(", ")}}`;
  }
  return markedText(value);
}

function markedText(value: FeelValue): string {
  if (isKind(value, "date")) return dateText(value);
  if (isKind(value, "time")) return timeText(value);
  if (isKind(value, "date and time")) return dateTimeText(value);
  if (isKind(value, "days and time duration") || isKind(value, "years and months duration")) return durationText(value);
  if (isKind(value, "range")) {
    const [open, close] = [value.startIncluded ? "[" : "(", value.endIncluded ? "]" : ")"];
    return `${open}${innerText(value.start)}..${innerText(value.end)}${close}`;
  }
  return "function";
}
