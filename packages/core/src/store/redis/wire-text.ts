/**
 * The wire form of texts. UTF-8 has no encoding for a lone surrogate, so it is replaced by an escape character and four hex digits. The
 * escape character itself is replaced too, so different texts stay different.
 */

/** A noncharacter of Unicode. */
const ESCAPE = "\ufffe";

/** A fast test that is almost never true: it also matches complete surrogate pairs, which need no escape. */
const MAY_NEED_ESCAPE = /[\ud800-\udfff\ufffe]/;
/** With the `u` flag only lone surrogates match. */
const ESCAPED = /[\ud800-\udfff\ufffe]/gu;
const ESCAPES = /\ufffe([0-9a-f]{4})/g;

export function toWire(text: string): string {
  return MAY_NEED_ESCAPE.test(text) ? text.replace(ESCAPED, escapeUnit) : text;
}

export function fromWire(text: string): string {
  return text.includes(ESCAPE) ? text.replace(ESCAPES, unescapeUnit) : text;
}

/** Null becomes `-`. A text gets the prefix `=`. */
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

/** Compares texts by their wire bytes: the order of members with equal scores in a sorted set. */
export function byWireBytes(left: string, right: string): number {
  return Buffer.compare(Buffer.from(toWire(left), "utf8"), Buffer.from(toWire(right), "utf8"));
}

function escapeUnit(unit: string): string {
  return ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, "0");
}

function unescapeUnit(_match: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
