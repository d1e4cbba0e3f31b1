import { bytes as bytesOf } from "./bytes.ts";
import { PawlError } from "./errors.ts";
import { toFailure } from "./failure.ts";
import { decodeText } from "./payload-decode.ts";
import { payloadRefusal } from "./payload-refusal.ts";
import { NotData, TooManyValues, TreeWalk, VALUES_MAX } from "./payload-tree.ts";
import type { Payload } from "./run.ts";

/** Changes every text on its way to the store and back: compression, encryption. `decode` is the inverse of `encode`. */
export interface CodecHook {
  encode(text: string): string;
  decode(text: string): string;
}

export interface PayloadLimits {
  readonly bytesMax: number;
  /** Payloads larger than this are told to `onLarge`. */
  readonly warnBytes: number;
  readonly onLarge: (what: string, bytes: number) => void;
}

/**
 * Values to payloads and back.
 *
 * 1. What `encode` accepts comes back the same: JSON, undefined, every number, Date, BigInt, Map, Set, Uint8Array. Of an
 *    error come back name, message, stack, code, causes and the properties that are data; a Buffer as a Uint8Array.
 * 2. Everything else is refused with its path. Nothing is dropped in silence.
 * 3. A payload is well-formed text without NUL: any store can keep it.
 */
export interface Codec {
  /** `what` names the value in errors: `output of step charge`. */
  encode(value: unknown, what: string): Payload;
  decode(payload: Payload): unknown;
  /** As encoding `{ value, ...facts }`, for a value that is encoded already. */
  encodeWith(payload: Payload, facts: Readonly<Record<string, string | number>>, what: string): Payload;
  /** The value as a replay will see it: what encoding and decoding gives, without decoding primitives. */
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
    decode(payload) {
      return fromNullable(payload, hook);
    },
    encodeWith(payload, facts, what) {
      if (hook !== null) return pack(toText({ value: fromNullable(payload, hook), ...facts }, what), what);
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
      throw new PawlError("PAYLOAD_TOO_LARGE", `${what}: $ holds more than ${VALUES_MAX} values`);
    const refusal = `${what}: ${payloadRefusal(value)}`;
    throw new PawlError("PAYLOAD_UNSUPPORTED", refusal, cause instanceof NotData ? {} : { cause });
  }
}

function stringify(tree: unknown, what: string): string {
  try {
    return JSON.stringify(tree);
  } catch (cause) {
    if (cause instanceof RangeError && cause.message === "Invalid string length") {
      throw new PawlError("PAYLOAD_TOO_LARGE", `${what}: its text would be longer than any string can be`, { cause });
    }
    throw cause;
  }
}

function fromNullable(payload: Payload, hook: CodecHook | null): unknown {
  return payload === null ? undefined : fromText(payload, hook);
}

function fromText(payload: string, hook: CodecHook | null): unknown {
  try {
    return decodeText(hook === null ? payload : hook.decode(payload));
  } catch (cause) {
    throw new PawlError("PAYLOAD_CORRUPT", `a stored value can't be read: ${messageOf(cause)}`, { cause });
  }
}

/** Invariant 3 holds for what a hook makes, too: a store must not be the one that finds out. */
function hooked(hook: CodecHook, text: string, what: string): string {
  const packed: unknown = hook.encode(text);
  if (typeof packed !== "string") {
    throw new PawlError("OPTION_INVALID", `${what}: the codec's encode must return a string, not ${typeof packed}`);
  }
  if (/[\0\p{Surrogate}]/u.test(packed)) {
    throw new PawlError(
      "OPTION_INVALID",
      `${what}: the codec's encode returned a text with NUL or half a surrogate pair`,
    );
  }
  return packed;
}

/** A character is 1 to 3 bytes of UTF-8, so most texts need not be measured. */
function checkSize(text: string, what: string, limits: PayloadLimits): void {
  const { bytesMax, warnBytes, onLarge } = limits;
  if (text.length * 3 <= bytesMax && text.length * 3 <= warnBytes) return;
  const bytes = bytesOf.utf8Length(text);
  if (bytes > bytesMax) {
    throw new PawlError("PAYLOAD_TOO_LARGE", `${what}: ${bytes} bytes are more than payloadBytesMax, ${bytesMax}`);
  }
  if (bytes > warnBytes) onLarge(what, bytes);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "what it threw is no error";
}
