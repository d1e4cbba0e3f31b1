import { deepStrictEqual } from "node:assert/strict";
import { createContext, runInContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { createCodec } from "./payload.ts";
import { plainCopy } from "./plain-copy.ts";

const codec = createCodec(null, { bytesMax: 2 ** 20, warnBytes: 2 ** 20, onLarge: () => {} });

/** A record that has one value when its form is asked for, and another when it is read. */
function changing(first: object, then: object): object {
  let asked = 0;
  return new Proxy(first, {
    ownKeys: () => {
      asked += 1;
      return Reflect.ownKeys(asked === 1 ? first : then);
    },
    getOwnPropertyDescriptor: (_, name) => {
      const property = Reflect.getOwnPropertyDescriptor(asked === 1 ? first : then, name);
      return property === undefined ? undefined : { ...property, configurable: true };
    },
    get: (_, name) => Reflect.get(asked === 1 ? first : then, name) as unknown,
  });
}

describe("a copy of a plain value", () => {
  test.each<[string, unknown]>([
    ["a record of records and lists", { a: { b: [1, { c: null }] }, d: [[], {}], e: "x", f: false }],
    ["keys that look like numbers", { 2: "b", 1: "a", "01": "c" }],
    ["a key that is __proto__", JSON.parse('{"__proto__": {"a": 1}, "b": 2}')],
    ["a record without a prototype", Object.assign(Object.create(null), { a: 1 })],
    ["what another realm made", runInContext("({ a: [1, { b: 2 }] })", createContext())],
    ["a part that is shared", (() => [{ a: 1 }].flatMap((part) => [part, part]))()],
  ])("is what its text gives: %s", (_, value) => {
    deepStrictEqual(plainCopy(value), JSON.parse(JSON.stringify(value)));
  });

  test("shares nothing with the value, nor does one part with another", () => {
    const part = { n: 1 };
    const { value } = codec.roundTrip({ list: [part, part], part }, "value");
    part.n = 2;
    const copy = value as { list: { n: number }[]; part: { n: number } };
    expect(copy).toEqual({ list: [{ n: 1 }, { n: 1 }], part: { n: 1 } });
    expect(copy.list[0]).not.toBe(copy.list[1]);
  });

  test.each<[string, object]>([
    ["a function", { a: () => 1 }],
    ["undefined", { a: undefined }],
    ["a number that JSON lacks", { a: -0 }],
    ["a tag", { "~": ["date", 1] }],
    ["a symbol", { a: Symbol("a") }],
  ])("is refused where the value reads otherwise than before: %s", (_, then) => {
    expect(() => codec.roundTrip(changing({ a: 1 }, then), "output of step a")).toThrow(
      expect.objectContaining({
        code: "PAYLOAD_UNSUPPORTED",
        message: "output of step a: $ can't be read: it changed while it was read",
      }),
    );
  });

  test("is what is written, where the value reads otherwise than before and is plain", () => {
    const { payload, value } = codec.roundTrip(changing({ a: 1 }, { a: 2 }), "value");
    expect(value).toEqual({ a: 2 });
    expect(codec.decode(payload)).toEqual(value);
  });
});
