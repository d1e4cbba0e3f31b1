/**
 * Text as it goes over the wire. Redis keeps any bytes, but half a surrogate pair has none: it is written as an escape
 * character and four hex digits; so is the escape character itself, which keeps different texts different.
 */

/** A code point that no text uses. */
const ESCAPE = "\ufffe";

/** Finds what may need an escape, whole pairs included: fast, and almost never true. */
const SUSPECT = /[\ud800-\udfff\ufffe]/;
/** With the `u` flag a surrogate matches only where it stands alone. */
const ESCAPED = /[\ud800-\udfff\ufffe]/gu;
const ESCAPES = /\ufffe([0-9a-f]{4})/g;

export function toWire(text: string): string {
  return SUSPECT.test(text) ? text.replace(ESCAPED, escapeUnit) : text;
}

export function fromWire(text: string): string {
  return text.includes(ESCAPE) ? text.replace(ESCAPES, unescapeUnit) : text;
}

/** Null is `-`; a text begins with `=`. */
export function toWireOrNull(text: string | null): string {
  return text === null ? "-" : `=${toWire(text)}`;
}

export function fromWireOrNull(text: string | null): string | null {
  return text === null || text === "-" ? null : fromWire(text.slice(1));
}

export function numberOrNull(value: number | null): string {
  return value === null ? "" : String(value);
}

export function flag(value: boolean): string {
  return value ? "1" : "0";
}

/** The order in which the server has texts of equal score. */
export function byWireBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(toWire(left), "utf8"), Buffer.from(toWire(right), "utf8"));
}

function escapeUnit(unit: string): string {
  return ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, "0");
}

function unescapeUnit(_match: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
