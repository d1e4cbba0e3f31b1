import fc from "fast-check";
import { expect, test } from "vitest";
import { hash32, hash128 } from "./hash.ts";

/** The hashes are part of the durable format, because stored ids contain them. */
test.each([
  ["", "f7bed5a15b576a1c5b576a1c5b576a1c", 3954623016],
  ["a", "2511c556a5d9f9a3a5d9f9a3a5d9f9a3", 2863223161],
  ["\0", "c3599f1a6044c0f36044c0f36044c0f3", 2833486691],
  ["order-1//ship", "9a812b44f9585657ce6f4f6eba9ec48e", 440014237],
  ["💥 eight or more", "7442b677eecdee9eb487347c1bbb01de", 3383952558],
])("the hash of %j never changes", (text, hex, number) => {
  expect(hash128(text)).toBe(hex);
  expect(hash32(text)).toBe(number);
});

test("a hash is 32 hexadecimal digits, or a number in [0, 2^32)", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(hash128(text)).toMatch(/^[0-9a-f]{32}$/);
      expect(hash32(text)).toBe(hash32(text) >>> 0);
    }),
  );
});

test("similar texts have different hashes", () => {
  const texts = new Set<string>();
  for (let n = 0; n < 50_000; n++) {
    texts.add(`order-${n}`);
    texts.add(`${n}:order//step#${n % 7}`);
    texts.add("a".repeat(n % 500) + n);
  }
  for (let n = 0; n < 300; n++) texts.add("\0".repeat(n));
  expect(new Set([...texts].map(hash128)).size).toBe(texts.size);
  // Random hashes of n texts have about n²/2^33 equal pairs: 2.6 here.
  expect(texts.size - new Set([...texts].map(hash32)).size).toBeLessThan(15);
});

test("each bit of a character changes about half of the bits of the hash", () => {
  let changed = 0;
  let changed32 = 0;
  let pairs = 0;
  for (let n = 0; n < 200; n++) {
    const text = `run-${n}/location of some length`;
    const at = n % text.length;
    for (let bit = 0; bit < 16; bit++) {
      const other = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << bit)) + text.slice(at + 1);
      changed += bitCount(BigInt(`0x${hash128(text)}`) ^ BigInt(`0x${hash128(other)}`));
      changed32 += bitCount(BigInt(hash32(text)) ^ BigInt(hash32(other)));
      pairs++;
    }
  }
  expect(changed / pairs).toBeGreaterThan(62);
  expect(changed / pairs).toBeLessThan(66);
  expect(changed32 / pairs).toBeGreaterThan(15);
  expect(changed32 / pairs).toBeLessThan(17);
});

function bitCount(value: bigint): number {
  return value.toString(2).replaceAll("0", "").length;
}
