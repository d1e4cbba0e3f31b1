import { asBuffer, bytes as bytesOf } from "./bytes.ts";
import { PawlError } from "./errors.ts";
import { isFailure, toError, toFailure } from "./failure.ts";
import { payloadRefusal } from "./payload-refusal.ts";
import { DEPTH_MAX, NotData, TAG, type TagName, TooManyValues, TreeWalk, VALUES_MAX } from "./payload-tree.ts";
import type { Payload } from "./run.ts";

/** Changes every text on its way to the store and back: compression, encryption. `decode` is the inverse of `encode`. */
export interface CodecHook {
  /**
   * Names the key or format in which `encode` writes. Rename it when that changes: the store then also keeps a check of the new one.
   * Default `codec`.
   */
  readonly name?: string;
  encode(text: string): string;
  decode(text: string): string;
}

export interface PayloadLimits {
  readonly bytesMax: number;
  /** Payloads larger than this are reported to `onLarge`. */
  readonly warnBytes: number;
  readonly onLarge: (what: string, bytes: number) => void;
}

/**
 * Converts values to payloads and back.
 *
 * 1. A value that `encode` accepts decodes to an equal value: JSON, undefined, every number, Date, BigInt, Map, Set, Uint8Array, Buffer. An
 *    error keeps name, message, stack, code, causes and the properties that are data.
 * 2. Every other value is rejected with the path of the unsupported part. Nothing is dropped silently.
 * 3. A payload is well-formed text without NUL, so every store can store it.
 */
export interface Codec {
  /** `what` names the value in errors: `output of step charge`. */
  encode(value: unknown, what: string): Payload;
  /** Throws `PAYLOAD_UNREADABLE` if the payload cannot be read. `what` names the value in the error. */
  decode(payload: Payload, what?: string): unknown;
  /** Returns the payload of `{ value, ...facts }`, where `payload` is that of `value`. */
  encodeWith(payload: Payload, facts: Readonly<Record<string, string | number>>, what: string): Payload;
  /** Returns the payload and the decoded value, which a replay will see. Primitives are not decoded. */
  roundTrip(value: unknown, what: string): { readonly payload: Payload; readonly value: unknown };
}

export function createCodec(hook: CodecHook | null, limits: PayloadLimits): Codec {
  const pack = (text: string, what: string): string => {
    const packed = hook === null ? text : hooked(hook, text, what);
    checkSize(packed, what, limits);
    return packed;
  };
  return {
    encode(value, what) {
      return value === undefined ? null : pack(toText(value, what), what);
    },
    decode(payload, what) {
      return fromNullable(payload, hook, what);
    },
    encodeWith(payload, facts, what) {
      if (hook !== null) return pack(toText({ value: fromNullable(payload, hook, what), ...facts }, what), what);
      return pack(`{"value":${payload ?? UNDEFINED},${JSON.stringify(facts).slice(1)}`, what);
    },
    roundTrip(value, what) {
      if (value === undefined) return { payload: null, value };
      const walk = new TreeWalk(toFailure);
      const tree = checkedTree(walk, value, what);
      const text = stringify(tree, what);
      return { payload: pack(text, what), value: walk.hasTags ? decodeText(text) : tree };
    },
  };
}

const UNDEFINED = JSON.stringify(new TreeWalk(toFailure).treeOf(undefined));

function toText(value: unknown, what: string): string {
  return stringify(checkedTree(new TreeWalk(toFailure), value, what), what);
}

function checkedTree(walk: TreeWalk, value: unknown, what: string): unknown {
  try {
    return walk.treeOf(value);
  } catch (cause) {
    if (cause instanceof TooManyValues)
      throw new PawlError("PAYLOAD_TOO_LARGE", `${what}: $ contains more than ${VALUES_MAX} values`);
    const refusal = `${what}: ${payloadRefusal(value)}`;
    throw new PawlError("PAYLOAD_UNSUPPORTED", refusal, cause instanceof NotData ? {} : { cause });
  }
}

function stringify(tree: unknown, what: string): string {
  try {
    return JSON.stringify(tree);
  } catch (cause) {
    if (cause instanceof RangeError && cause.message === "Invalid string length") {
      throw new PawlError("PAYLOAD_TOO_LARGE", `${what}: its text exceeds the maximum string length`, { cause });
    }
    throw cause;
  }
}

/** A decoded value, or the error that says why it cannot be read. One unreadable value must not fail a page of many. */
export type Reading<Value = unknown> =
  | { readonly value: Value; readonly unreadable: null }
  | { readonly value: undefined; readonly unreadable: PawlError };

/** Decodes a payload for a view. */
export function readingOf<Value>(codec: Codec, payload: Payload, what: string): Reading<Value> {
  try {
    return { value: codec.decode(payload, what) as Value, unreadable: null };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return { value: undefined, unreadable: error };
  }
}

export function isUnreadable(error: unknown): error is PawlError {
  return error instanceof PawlError && error.code === "PAYLOAD_UNREADABLE";
}

function fromNullable(payload: Payload, hook: CodecHook | null, what?: string): unknown {
  return payload === null ? undefined : fromText(payload, hook, what);
}

function fromText(payload: string, hook: CodecHook | null, what = "a stored value"): unknown {
  try {
    return decodeText(hook === null ? payload : hook.decode(payload));
  } catch (cause) {
    throw new PawlError(
      "PAYLOAD_UNREADABLE",
      `${what} cannot be read: ${messageOf(cause)}; use the codec that wrote it`,
      { cause },
    );
  }
}

/** Ensures invariant 3 for the result of a hook. Otherwise the store would fail. */
function hooked(hook: CodecHook, text: string, what: string): string {
  const packed: unknown = hook.encode(text);
  if (typeof packed !== "string") {
    throw new PawlError("OPTION_INVALID", `${what}: the codec's encode must return a string, not ${typeof packed}`);
  }
  if (/[\0\p{Surrogate}]/u.test(packed)) {
    throw new PawlError(
      "OPTION_INVALID",
      `${what}: the codec's encode returned text with NUL or half a surrogate pair`,
    );
  }
  return packed;
}

/** A UTF-16 code unit has 1 to 3 bytes in UTF-8, so most texts need no measurement. */
function checkSize(text: string, what: string, limits: PayloadLimits): void {
  const { bytesMax, warnBytes, onLarge } = limits;
  if (text.length * 3 <= bytesMax && text.length * 3 <= warnBytes) return;
  const bytes = bytesOf.utf8Length(text);
  if (bytes > bytesMax) {
    throw new PawlError("PAYLOAD_TOO_LARGE", `${what} is ${bytes} bytes; payloadBytesMax is ${bytesMax}`);
  }
  if (bytes > warnBytes) onLarge(what, bytes);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "a value that is not an Error was thrown";
}

/** JSON escapes quotes in strings, so these characters appear only if an object's first key is the tag. */
const MARK = `{"${TAG}":`;

/** Deeper than the text of any payload: a map adds four levels per level, and an error at the bottom adds levels. */
const TEXT_DEPTH_MAX = 6 * DEPTH_MAX;

/** Returns the value of a text. Throws a SyntaxError, or a TypeError that names the damaged tag. */
function decodeText(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(MARK) ? revive(value, 0) : value;
}

/** Replaces tags by their values. Modifies the given containers, which the parser has just created. */
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

/** Each key is an own property, so an assignment calls no setter, even for `__proto__`. */
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
    case "buffer":
      return asBuffer(untagBytes(content));
    case "error":
      return untagError(content, depth);
    case "object":
      if (typeof content !== "object" || content === null || Array.isArray(content)) throw damaged("object");
      return reviveRecord(content as Record<string, unknown>, Object.keys(content), depth);
    default:
      throw new TypeError(`it has a tag that this version does not support: ${JSON.stringify(tag[0])}`);
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
