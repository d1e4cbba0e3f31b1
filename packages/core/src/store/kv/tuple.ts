import { PawlError } from "../../model/errors.ts";
import { kinds, notAllowed, readArgument } from "../../model/option-check.ts";
import { textOf } from "../../model/payload-values.ts";

/**
 * Encodes lists of values as bytes in the format of FoundationDB's tuple layer. The bytes sort as the values do: null, bytes, text,
 * lists, integers, other numbers, false, true. If a list starts with another list, so do its bytes.
 */
export type TupleItem = null | boolean | number | string | Uint8Array | readonly TupleItem[];

const CODE = {
  null: 0x00,
  bytes: 0x01,
  text: 0x02,
  list: 0x05,
  zero: 0x14,
  double: 0x21,
  no: 0x26,
  yes: 0x27,
} as const;
/** Follows a zero byte in bytes or text, which would otherwise end them. */
const ESCAPED_ZERO = 0xff;
const INT_BYTES_MAX = 7;

const TEXT = new TextEncoder();
const FROM_TEXT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function encodeTuple(items: readonly TupleItem[]): Uint8Array {
  const out: number[] = [];
  try {
    for (const item of items) write(out, item, "top");
  } catch (cause) {
    if (cause instanceof PawlError) throw cause;
    throw new PawlError("PAYLOAD_UNSUPPORTED", `a tuple must be a list of values; ${textOf(cause)}`, { cause });
  }
  return Uint8Array.from(out);
}

function write(out: number[], item: TupleItem, where: "top" | "inside"): void {
  if (item === null) out.push(CODE.null, ...(where === "inside" ? [ESCAPED_ZERO] : []));
  else if (item === false) out.push(CODE.no);
  else if (item === true) out.push(CODE.yes);
  else if (typeof item === "number") writeNumber(out, item);
  else if (typeof item === "string") writeBytes(out, CODE.text, TEXT.encode(item));
  else if (item instanceof Uint8Array) writeBytes(out, CODE.bytes, item);
  else if (Array.isArray(item)) {
    out.push(CODE.list);
    for (const inner of item) write(out, inner, "inside");
    out.push(0);
  } else {
    const allowed = "null, a boolean, a number, text, bytes or a list of them";
    throw notAllowed("item of a tuple", allowed, item, "PAYLOAD_UNSUPPORTED");
  }
}

function writeBytes(out: number[], code: number, bytes: Uint8Array): void {
  out.push(code);
  for (const byte of bytes) {
    out.push(byte);
    if (byte === 0) out.push(ESCAPED_ZERO);
  }
  out.push(0);
}

/** The bytes of a negative number are inverted, so that larger numbers sort later. */
function writeNumber(out: number[], value: number): void {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
    writeDouble(out, value);
    return;
  }
  const size = Math.abs(value);
  let length = 0;
  while (length < INT_BYTES_MAX && size >= 256 ** length) length += 1;
  if (value === 0) length = 0;
  out.push(value < 0 ? CODE.zero - length : CODE.zero + length);
  for (let place = length - 1; place >= 0; place -= 1) {
    const byte = Math.floor(size / 256 ** place) % 256;
    out.push(value < 0 ? 255 - byte : byte);
  }
}

/** All bits of a negative number are inverted; of other numbers only the sign is. So larger numbers sort later. */
function writeDouble(out: number[], value: number): void {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value);
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0;
  out.push(CODE.double, ...bytes.map((byte, at) => (isNegative ? byte ^ 0xff : at === 0 ? byte ^ 0x80 : byte)));
}

/** Throws a TypeError if the bytes are not an encoded list. */
export function decodeTuple(bytes: Uint8Array): readonly TupleItem[] {
  readArgument(kinds.bytes, bytes, "bytes");
  const items: TupleItem[] = [];
  try {
    for (let at = 0; at < bytes.length; ) {
      const { item, next } = read(bytes, at);
      items.push(item);
      at = next;
    }
  } catch (cause) {
    if (cause instanceof PawlError) throw cause;
    throw new PawlError("PAYLOAD_UNREADABLE", `these ${bytes.length} bytes are no tuple: ${textOf(cause)}`, { cause });
  }
  return items;
}

interface Read<Item> {
  readonly item: Item;
  readonly next: number;
}

function read(bytes: Uint8Array, at: number): Read<TupleItem> {
  const code = bytes[at];
  if (code === undefined) throw invalid(bytes, at);
  if (code >= CODE.zero - INT_BYTES_MAX && code <= CODE.zero + INT_BYTES_MAX) return readInt(bytes, at, code);
  switch (code) {
    case CODE.null:
      return { item: null, next: at + 1 };
    case CODE.no:
      return { item: false, next: at + 1 };
    case CODE.yes:
      return { item: true, next: at + 1 };
    case CODE.bytes:
      return readBytes(bytes, at + 1);
    case CODE.text: {
      const { item, next } = readBytes(bytes, at + 1);
      return { item: FROM_TEXT.decode(item), next };
    }
    case CODE.list:
      return readList(bytes, at + 1);
    case CODE.double:
      return readDouble(bytes, at + 1);
    default:
      throw invalid(bytes, at);
  }
}

function readInt(bytes: Uint8Array, at: number, code: number): Read<number> {
  const length = Math.abs(code - CODE.zero);
  if (at + length >= bytes.length) throw invalid(bytes, at);
  const isNegative = code < CODE.zero;
  let size = 0;
  for (const byte of bytes.subarray(at + 1, at + 1 + length)) size = size * 256 + (isNegative ? 255 - byte : byte);
  return { item: isNegative ? -size : size, next: at + 1 + length };
}

function readBytes(bytes: Uint8Array, start: number): Read<Uint8Array> {
  const out: number[] = [];
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte !== 0) out.push(byte);
    else if (bytes[at + 1] === ESCAPED_ZERO) {
      out.push(0);
      at += 1;
    } else return { item: Uint8Array.from(out), next: at + 1 };
  }
  throw invalid(bytes, start);
}

function readList(bytes: Uint8Array, start: number): Read<readonly TupleItem[]> {
  const items: TupleItem[] = [];
  for (let at = start; at < bytes.length; ) {
    if (bytes[at] !== 0) {
      const { item, next } = read(bytes, at);
      items.push(item);
      at = next;
    } else if (bytes[at + 1] === ESCAPED_ZERO) {
      items.push(null);
      at += 2;
    } else return { item: items, next: at + 1 };
  }
  throw invalid(bytes, start);
}

function readDouble(bytes: Uint8Array, start: number): Read<number> {
  if (start + 8 > bytes.length) throw invalid(bytes, start);
  const copy = bytes.slice(start, start + 8);
  const isNegative = ((copy[0] ?? 0) & 0x80) === 0;
  const bits = copy.map((byte, at) => (isNegative ? byte ^ 0xff : at === 0 ? byte ^ 0x80 : byte));
  return { item: new DataView(bits.buffer).getFloat64(0), next: start + 8 };
}

function invalid(bytes: Uint8Array, at: number): PawlError {
  return new PawlError("PAYLOAD_UNREADABLE", `invalid tuple: unexpected byte ${at} of ${bytes.length}`);
}

/** Compares keys bytewise. Returns -1, 0 or 1. */
export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return Math.sign(left.length - right.length);
}

export function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return bytes.length >= prefix.length && prefix.every((byte, at) => bytes[at] === byte);
}
