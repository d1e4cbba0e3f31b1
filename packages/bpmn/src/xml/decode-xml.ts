import { guardArguments } from "pawl";
import { malformed, tooLarge } from "./xml-error.ts";

/** Allowed encodings. In others, such as UTF-7, text could pass a check and mean something else after decoding. */
const ENCODINGS = new Set(["utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16", "utf-16le", "utf-16be"]);

/** Whether a value is a document. Untyped callers may pass anything. */
export function isDocument(source: unknown): source is string | Uint8Array {
  return typeof source === "string" || guardArguments("document", () => source instanceof Uint8Array);
}

/** Decodes a document by its byte order mark, otherwise by its declaration, otherwise as UTF-8. Invalid bytes are rejected. */
export function decodeXml(source: string | Uint8Array, charsMax: number): string {
  if (!isDocument(source)) throw malformed(1, "the document must be a text or a Uint8Array");
  if (source.length > charsMax * (typeof source === "string" ? 1 : 4)) throw tooLarge("characters", charsMax);
  const text = typeof source === "string" ? source : decodeBytes(source);
  if (text.length > charsMax) throw tooLarge("characters", charsMax);
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

function decodeBytes(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes);
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    const invalid = malformed(1, `bytes are not valid ${encoding}`);
    invalid.cause = error;
    throw invalid;
  }
}

function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const head = String.fromCharCode(...bytes.subarray(0, 200));
  const declared = /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']/.exec(head)?.[1]?.toLowerCase();
  if (declared === undefined) return "utf-8";
  if (!ENCODINGS.has(declared)) throw malformed(1, `encoding ${declared} is not supported; save the document as UTF-8`);
  // The declaration was readable as ASCII, so the document is not UTF-16.
  return declared.startsWith("utf-16") ? "utf-8" : declared;
}
