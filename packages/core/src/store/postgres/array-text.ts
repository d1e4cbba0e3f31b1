import { toColumnOrNull } from "../text-column.ts";

/**
 * Lists as PostgreSQL reads arrays from text. The driver could write them too, but looks at each value for what it is; these
 * are written thousands at a time, and what they hold is known.
 */

/** What JSON writes in another way than an array does, or a column can't hold as it is. Of the rest, both escape the same. */
const ODD = /[^ -\ud7ff\ue000-\ufffd]/;

/** Every text is quoted: so is one that looks like NULL, and an empty one. */
export function textArray(values: readonly (string | null)[]): string {
  return values.some(isOdd) ? `{${values.map(quoted).join(",")}}` : asJson(values);
}

/** The same, of texts as columns hold them. */
export function columnArray(values: readonly (string | null)[]): string {
  return values.some(isOdd) ? textArray(values.map(toColumnOrNull)) : asJson(values);
}

export function numberArray(values: readonly number[]): string {
  return asJson(values);
}

/** What is the same for all, as it mostly is, is written once. */
export function once<Value>(values: readonly Value[]): readonly Value[] {
  const [first] = values;
  return values.every((value) => value === first) ? values.slice(0, 1) : values;
}

function asJson(values: readonly (string | number | null)[]): string {
  return `{${JSON.stringify(values).slice(1, -1)}}`;
}

function isOdd(text: string | null): boolean {
  return text !== null && ODD.test(text);
}

function quoted(text: string | null): string {
  return text === null ? "NULL" : `"${text.replace(/["\\]/g, "\\$&")}"`;
}
