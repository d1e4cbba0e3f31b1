import fc from "fast-check";
import { pack, unpack } from "fdb-tuple";
import { describe, expect, test } from "vitest";
import { compareBytes, decodeTuple, encodeTuple, type TupleItem } from "./tuple.ts";

/** Text without halves of surrogate pairs, which UTF-8 cannot represent. */
const text = fc.string({ unit: "binary" }).filter((each) => Buffer.from(each).toString() === each);
const number = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true }),
  fc.constantFrom(0, -0, 255, 256, -256),
);
const item: fc.Arbitrary<TupleItem> = fc.letrec<{ item: TupleItem }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false),
    number,
    text,
    fc.uint8Array({ maxLength: 6 }),
    fc.array(tie("item"), { maxLength: 4 }),
  ),
})).item;
const tuple = fc.array(item, { maxLength: 5 });

const plain = (value: unknown): unknown =>
  value instanceof Uint8Array ? [...value] : Array.isArray(value) ? value.map(plain) : value;

describe("tuples", () => {
  test("a tuple is encoded as fdb-tuple encodes it", () => {
    const same = (items: readonly TupleItem[]): void => {
      const packed = pack(items.map(toBuffer) as never) as Buffer;
      expect([...encodeTuple(items)]).toEqual([...packed]);
      expect(plain(decodeTuple(packed))).toEqual(plain(unpack(Buffer.from(encodeTuple(items)))));
    };
    fc.assert(fc.property(tuple, same), { numRuns: 2_000 });
  });

  test("a tuple is decoded unchanged", () => {
    fc.assert(fc.property(tuple, (items) => void expect(plain(decodeTuple(encodeTuple(items)))).toEqual(plain(items))));
  });

  test("encoded tuples sort as their numbers, and as the code points of their texts", () => {
    const sorts = <T extends number | string>(values: readonly T[], compare: (left: T, right: T) => number): void => {
      const byBytes = [...values].sort((left, right) => compareBytes(encodeTuple([left]), encodeTuple([right])));
      expect(byBytes).toEqual([...values].sort(compare));
    };
    fc.assert(fc.property(fc.array(fc.maxSafeInteger()), (values) => sorts(values, (left, right) => left - right)));
    const codePoints = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));
    fc.assert(fc.property(fc.array(text), (values) => sorts(values, codePoints)));
  });

  test("a tuple that starts with another starts with its bytes", () => {
    const begins = (items: readonly TupleItem[], more: readonly TupleItem[]): void => {
      const bytes = encodeTuple(items);
      expect([...encodeTuple([...items, ...more]).subarray(0, bytes.length)]).toEqual([...bytes]);
    };
    fc.assert(fc.property(tuple, tuple, begins));
  });

  test("decoding rejects invalid bytes", () => {
    for (const bytes of [[0x02, 0x61], [0x16, 1], [0x21, 1, 2], [0x05, 0x15, 1], [0xff], [0x30]]) {
      expect(() => decodeTuple(Uint8Array.from(bytes))).toThrow(/invalid tuple/);
    }
    expect(() => decodeTuple(Uint8Array.from([0x02, 0xff, 0x00]))).toThrow();
  });
});

function toBuffer(value: TupleItem): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value);
  return Array.isArray(value) ? value.map(toBuffer) : value;
}
