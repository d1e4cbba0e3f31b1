import { malformed, tooLarge } from "./xml-error.ts";

/** Encodings that a declaration may name. Others, UTF-7 above all, let text pass a check that means something else later. */
const ENCODINGS = new Set(["utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16", "utf-16le", "utf-16be"]);

/** The text of a document: by its byte order mark, else by its declaration, else as UTF-8. Bytes that fit not are refused. */
export function decodeXml(source: string | Uint8Array, charsMax: number): string {
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
    const flaw = malformed(1, `the bytes are not ${encoding}`);
    flaw.cause = error;
    throw flaw;
  }
}

function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const head = String.fromCharCode(...bytes.subarray(0, 200));
  const declared = /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']/.exec(head)?.[1]?.toLowerCase();
  if (declared === undefined) return "utf-8";
  if (!ENCODINGS.has(declared)) throw malformed(1, `the encoding ${declared} is not read; save the document as UTF-8`);
  // A declaration that could be read as ASCII can't be in UTF-16, whatever it says.
  return declared.startsWith("utf-16") ? "utf-8" : declared;
}
