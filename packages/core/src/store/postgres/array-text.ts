/**
 * Lists as PostgreSQL reads arrays from text. The driver could write them too, but looks at each value for what it is; these
 * are written thousands at a time, and what they hold is known.
 */

const SPECIAL = /["\\]/;

/** Every text is quoted: so is one that looks like NULL, and an empty one. */
export function textArray(values: readonly (string | null)[]): string {
  let text = "";
  for (const value of values) text += value === null ? ",NULL" : `,"${quotable(value)}"`;
  return `{${text.slice(1)}}`;
}

export function numberArray(values: readonly number[]): string {
  return `{${values.join(",")}}`;
}

function quotable(text: string): string {
  return SPECIAL.test(text) ? text.replace(/\\/g, "\\\\").replace(/"/g, '\\"') : text;
}
