import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Bytes, bufferBytes, fromBase64Url, plainBytes, toBase64Url } from "./bytes.ts";

const kinds: readonly (readonly [string, Bytes])[] = [
  ["with Node's Buffer", bufferBytes(Buffer)],
  ["with functions of every platform", plainBytes],
];

describe.each(kinds)("conversions %s", (_name, { fromBase64, toBase64, utf8Length }) => {
  test("base64 and UTF-8 lengths equal those of the platform", () => {
    const same = (bytes: Uint8Array): void => {
      const text = Buffer.from(bytes).toString("base64");
      expect(toBase64(bytes)).toBe(text);
      expect([...(fromBase64(text) ?? [])]).toEqual([...bytes]);
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), same));
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => utf8Length(text) === Buffer.byteLength(text)));
    const large = new Uint8Array(100_000).fill(7);
    expect(fromBase64(toBase64(large))?.length).toBe(large.length);
  });

  test("text that is not base64 is rejected", () => {
    for (const text of ["a", "ab", "a===", "@@@@", "YQ", "YR==", "YQ==\n"]) expect(fromBase64(text), text).toBeNull();
  });
});

test("text survives base64url, which contains no character that URLs reserve", () => {
  const back = (text: string): void => {
    expect(toBase64Url(text)).toMatch(/^[\w-]*$/);
    expect(fromBase64Url(toBase64Url(text))).toBe(text);
  };
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), back));
  expect(() => fromBase64Url("@")).toThrow(/not base64/);
});
