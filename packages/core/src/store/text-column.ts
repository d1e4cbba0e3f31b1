/**
 * Text as a column can hold it. SQLite ends it at a NUL, PostgreSQL refuses one, and neither holds half a surrogate pair: so
 * what is not plain text is written as an escape character and four hex digits; so is the escape character itself, which keeps different texts different.
 */

/** A code point that no text uses. */
const ESCAPE = "\ufffe";

/** Finds what may need an escape, whole pairs included: fast, and almost never true. */
const SUSPECT = /[^\t\n\r -\ud7ff\ue000-\ufffd]/;
/** With the `u` flag a surrogate matches only where it stands alone. */
const ESCAPED = /[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ESCAPES = /\ufffe([0-9a-f]{4})/g;

export function toColumn(text: string): string {
  return SUSPECT.test(text) ? text.replace(ESCAPED, escapeUnit) : text;
}

/** Whether something is escaped in what is read: else it is the text already. */
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
