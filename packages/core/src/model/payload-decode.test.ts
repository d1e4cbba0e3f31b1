import fc from "fast-check";
import { expect, test } from "vitest";
import { PawlError } from "./errors.ts";
import { createCodec } from "./payload.ts";

const codec = createCodec(null, { bytesMax: 2 ** 20, warnBytes: 2 ** 20, onLarge: () => {} });

test.each([
  ["", "no text"],
  ["{", "half a text"],
  ["nul", "half a word"],
  ['{"~":1}', "a tag that is no pair"],
  ['{"~":["date"]}', "a tag without content"],
  ['{"~":["date",1,2]}', "a tag with too much"],
  ['{"~":["date","1"]}', "a date that is a text"],
  ['{"~":["number","12"]}', "a number that needs no tag"],
  ['{"~":["bigint","0x10"]}', "a bigint in another notation"],
  ['{"~":["bigint",""]}', "an empty bigint"],
  ['{"~":["map",[[1]]]}', "a map with half an entry"],
  ['{"~":["map",{"~":["map",[]]}]}', "a map of a map"],
  ['{"~":["set",{}]}', "a set of an object"],
  ['{"~":["bytes","a*"]}', "bytes that are no base64"],
  ['{"~":["bytes",[1]]}', "bytes as numbers"],
  ['{"~":["error",{"name":"E"}]}', "an error without a message"],
  ['{"~":["error",{"name":"E","message":"m","cause":1}]}', "an error whose cause is none"],
  ['{"~":["error",{"name":"E","message":"m","details":1}]}', "an error with details that are none"],
  ['{"~":["object",[]]}', "an object that is an array"],
  ['{"~":["temporal","x"]}', "a tag of a later version"],
  ['{"~":["constructor",1]}', "a tag named like a method"],
])("%s is corrupt: %s", (text) => {
  expect(() => codec.decode(text)).toThrow(expect.objectContaining({ name: "PawlError", code: "PAYLOAD_CORRUPT" }));
});

test("a tag of a later version is named", () => {
  expect(() => codec.decode('{"~":["temporal","x"]}')).toThrow(
    'a stored value can\'t be read: it has a tag that this version does not know: "temporal"',
  );
});

test("a text nested without end is corrupt, not a stack overflow", () => {
  const levels = 100_000;
  const text = `${'[{"~":["set",['.repeat(levels)}${"]]}]".repeat(levels)}`;
  expect(() => codec.decode(text)).toThrow(expect.objectContaining({ code: "PAYLOAD_CORRUPT" }));
});

test("texts written by the first version are read for good", () => {
  const text =
    '{"u":{"~":["undefined",null]},"n":{"~":["number","-0"]},"b":{"~":["bigint","12"]},"d":{"~":["date",5]},' +
    '"x":{"~":["date",null]},"m":{"~":["map",[["k",{"~":["set",[1]]}]]]},"y":{"~":["bytes","AQI="]},' +
    '"e":{"~":["error",{"name":"TypeError","message":"m","code":7,"stack":"s","cause":{"name":"E","message":"c"},' +
    '"details":{"p":{"~":["bigint","1"]}},"attempts":2}]},"o":{"~":["object",{"~":1}]}}';
  const value = codec.decode(text) as Record<string, unknown>;
  expect(value).toMatchObject({ u: undefined, n: -0, b: 12n, d: new Date(5), o: { "~": 1 } });
  expect(value.m).toEqual(new Map([["k", new Set([1])]]));
  expect(value.y).toEqual(new Uint8Array([1, 2]));
  expect(value.e).toMatchObject({ message: "m", code: 7, stack: "s", p: 1n, attempts: 2 });
  expect(codec.encode(value, "value")).toBe(text);
});

test("damaged texts give a value or the typed error", () => {
  const text = codec.encode(
    { a: [new Date(1), new Map([[1n, -0]]), new Error("e")], "~": undefined },
    "value",
  ) as string;
  const damage = fc.record({ at: fc.nat(text.length), cut: fc.nat(3), put: fc.string({ maxLength: 3 }) });
  fc.assert(
    fc.property(damage, ({ at, cut, put }) => {
      try {
        codec.decode(text.slice(0, at) + put + text.slice(at + cut));
      } catch (error) {
        expect(error).toBeInstanceOf(PawlError);
        expect(error).toMatchObject({ code: "PAYLOAD_CORRUPT" });
      }
    }),
    { numRuns: 3_000 },
  );
});
