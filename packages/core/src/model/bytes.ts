/** Conversions between text and bytes, with the functions that the platform provides. */
export interface Bytes {
  utf8Length(text: string): number;
  toBase64(bytes: Uint8Array): string;
  /** Null if the text is not canonical base64. */
  fromBase64(text: string): Uint8Array | null;
}

const TO_UTF8 = new TextEncoder();
const FROM_UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
/** Maximum number of arguments of one call. More may not fit on the stack. */
const CHUNK = 8_192;

/** Uses only functions that every platform has. */
export const plainBytes: Bytes = {
  utf8Length: (text) => TO_UTF8.encode(text).length,
  toBase64(bytes) {
    let binary = "";
    for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
    return btoa(binary);
  },
  fromBase64(text) {
    try {
      const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
      return plainBytes.toBase64(bytes) === text ? bytes : null;
    } catch {
      // Not base64.
      return null;
    }
  },
};

/** Uses Node's Buffer, which is faster. Buffer skips invalid characters, so the decoded bytes are encoded again and compared. */
export function bufferBytes(NodeBuffer: typeof Buffer): Bytes {
  return {
    utf8Length: (text) => NodeBuffer.byteLength(text),
    toBase64: (bytes) => NodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    fromBase64(text) {
      const buffer = NodeBuffer.from(text, "base64");
      return buffer.toString("base64") === text ? new Uint8Array(buffer) : null;
    },
  };
}

const NodeBuffer: typeof Buffer | undefined = (globalThis as { readonly Buffer?: typeof Buffer }).Buffer;

export const bytes: Bytes = NodeBuffer === undefined ? plainBytes : bufferBytes(NodeBuffer);

/** The prototype of Buffer. Undefined if the platform has no Buffer. */
export const BUFFER_PROTOTYPE: object | undefined = NodeBuffer?.prototype;

/** Returns the bytes as a Buffer that uses the same memory, or as they are if the platform has no Buffer. */
export function asBuffer(bytes: Uint8Array): Uint8Array {
  return NodeBuffer === undefined ? bytes : NodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Encodes text as base64url, which may be part of a URL. */
export function toBase64Url(text: string): string {
  return bytes.toBase64(TO_UTF8.encode(text)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Throws a TypeError if the text is not base64url. */
export function fromBase64Url(text: string): string {
  const padded = text.replaceAll("-", "+").replaceAll("_", "/") + "=".repeat((4 - (text.length % 4)) % 4);
  const read = bytes.fromBase64(padded);
  if (read === null) throw new TypeError("not base64");
  return FROM_UTF8.decode(read);
}
