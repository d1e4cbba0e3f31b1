import { toColumnOrNull } from "../text-column.ts";

/**
 * Writes PostgreSQL array literals. The driver could write them too, but it checks the type of each value, which is slow for thousands
 * of values of one type.
 */

/** Characters that JSON escapes differently than an array literal, or that a column cannot store. All others are written the same way. */
const NEEDS_ESCAPE = /[^ -\ud7ff\ue000-\ufffd]/;

/** Quotes every text, so an empty text and the text NULL are not misread. */
export function textArray(values: readonly (string | null)[]): string {
  return values.some(needsEscape) ? `{${values.map(quoted).join(",")}}` : jsonArray(values);
}

/** As `textArray`, with texts encoded for columns. */
export function columnArray(values: readonly (string | null)[]): string {
  return values.some(needsEscape) ? textArray(values.map(toColumnOrNull)) : jsonArray(values);
}

export function numberArray(values: readonly number[]): string {
  return jsonArray(values);
}

/** Returns one value if all are the same, as they mostly are. */
export function collapseSame<Value>(values: readonly Value[]): readonly Value[] {
  const [first] = values;
  return values.every((value) => value === first) ? values.slice(0, 1) : values;
}

function jsonArray(values: readonly (string | number | null)[]): string {
  return `{${JSON.stringify(values).slice(1, -1)}}`;
}

function needsEscape(text: string | null): boolean {
  return text !== null && NEEDS_ESCAPE.test(text);
}

function quoted(text: string | null): string {
  return text === null ? "NULL" : `"${text.replace(/["\\]/g, "\\$&")}"`;
}
