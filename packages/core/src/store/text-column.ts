/**
 * Text as a column can store it. SQLite ends text at a NUL, PostgreSQL rejects NUL, and neither stores half a surrogate pair. Such
 * characters are written as an escape character and four hex digits. So is the escape character itself, so different texts stay
 * different.
 */

/** A noncharacter, which text normally does not contain. */
const ESCAPE = "\ufffe";

/** Matches text that may need an escape. Also matches whole surrogate pairs; fast, and rarely true. */
const SUSPECT = /[^\t\n\r -\ud7ff\ue000-\ufffd]/;
/** With the `u` flag, a surrogate matches only if it is not part of a pair. */
const ESCAPED = /[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ESCAPES = /\ufffe([0-9a-f]{4})/g;

export function toColumn(text: string): string {
  return SUSPECT.test(text) ? text.replace(ESCAPED, escapeUnit) : text;
}

/** Whether a column contains an escape. Otherwise it equals the text. */
export function hasEscape(column: string): boolean {
  return column.includes(ESCAPE);
}

export function fromColumn(column: string): string {
  return hasEscape(column) ? column.replace(ESCAPES, unescapeUnit) : column;
}

export function toColumnOrNull(text: string | null): string | null {
  return text === null ? null : toColumn(text);
}

export function fromColumnOrNull(column: string | null): string | null {
  return column === null ? null : fromColumn(column);
}

function escapeUnit(unit: string): string {
  return ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, "0");
}

function unescapeUnit(_match: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
