import { bytes as bytesOf } from "./bytes.ts";
import { isFailure, toError } from "./failure.ts";
import { DEPTH_MAX, TAG, type TagName } from "./payload-tree.ts";

/** In JSON text, quotes inside strings are escaped: only an object whose first key is the tag's gives these characters. */
const MARK = `{"${TAG}":`;

/** Deeper than any text of a payload: a map adds four levels to the text, and an error at the bottom has some of its own. */
const TEXT_DEPTH_MAX = 6 * DEPTH_MAX;

/** The value that was written as this text. Throws a SyntaxError, or a TypeError that says which tag is damaged. */
export function decodeText(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(MARK) ? revive(value, 0) : value;
}

/** Puts values in the place of their tags. Changes the containers it is given: they are fresh from the parser. */
function revive(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > TEXT_DEPTH_MAX) throw new TypeError(`it is nested deeper than ${TEXT_DEPTH_MAX} levels`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = revive(value[index], depth + 1);
    return value;
  }
  const record = value as Record<string, unknown>;
  const keys = Object.keys(record);
  if (keys.length === 1 && keys[0] === TAG) return untag(record[TAG], depth + 1);
  return reviveRecord(record, keys, depth);
}

/** Each key is an own property, so that assigning calls no setter: not even for `__proto__`. */
function reviveRecord(record: Record<string, unknown>, keys: readonly string[], depth: number): unknown {
  for (const key of keys) record[key] = revive(record[key], depth + 1);
  return record;
}

function untag(tag: unknown, depth: number): unknown {
  if (!Array.isArray(tag) || tag.length !== 2) throw damaged("tag");
  const content: unknown = tag[1];
  switch (tag[0] as TagName) {
    case "undefined":
      return undefined;
    case "number":
      return untagNumber(content);
    case "bigint":
      if (typeof content !== "string" || !/^-?\d+$/.test(content)) throw damaged("bigint");
      return BigInt(content);
    case "date":
      if (content !== null && typeof content !== "number") throw damaged("date");
      return new Date(content ?? Number.NaN);
    case "map":
      return untagMap(content, depth);
    case "set":
      if (!Array.isArray(content)) throw damaged("set");
      return new Set(revive(content, depth) as unknown[]);
    case "bytes":
      return untagBytes(content);
    case "error":
      return untagError(content, depth);
    case "object":
      if (typeof content !== "object" || content === null || Array.isArray(content)) throw damaged("object");
      return reviveRecord(content as Record<string, unknown>, Object.keys(content), depth);
    default:
      throw new TypeError(`it has a tag that this version does not know: ${JSON.stringify(tag[0])}`);
  }
}

function untagNumber(content: unknown): number {
  switch (content) {
    case "NaN":
      return Number.NaN;
    case "Infinity":
      return Number.POSITIVE_INFINITY;
    case "-Infinity":
      return Number.NEGATIVE_INFINITY;
    case "-0":
      return -0;
    default:
      throw damaged("number");
  }
}

function untagMap(content: unknown, depth: number): Map<unknown, unknown> {
  if (!Array.isArray(content)) throw damaged("map");
  for (const entry of content) {
    if (!Array.isArray(entry) || entry.length !== 2) throw damaged("map");
  }
  return new Map(revive(content, depth) as [unknown, unknown][]);
}

function untagBytes(content: unknown): Uint8Array {
  if (typeof content !== "string") throw damaged("bytes");
  const bytes = bytesOf.fromBase64(content);
  if (bytes === null) throw damaged("bytes");
  return bytes;
}

function untagError(content: unknown, depth: number): Error {
  const failure = revive(content, depth);
  if (!isFailure(failure)) throw damaged("error");
  return toError(failure);
}

function damaged(what: string): TypeError {
  return new TypeError(`its ${what} is damaged`);
}
