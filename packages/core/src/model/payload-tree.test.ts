import { deepStrictEqual } from "node:assert/strict";
import { createContext, runInContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { createCodec } from "./payload.ts";
import { TreeWalk } from "./payload-tree.ts";

const codec = createCodec(null, { bytesMax: 2 ** 20, warnBytes: 2 ** 20, onLarge: () => {} });

/** A record that returns other values after its properties were listed once. */
function changing(first: object, then: object): object {
  let listings = 0;
  return new Proxy(first, {
    ownKeys: () => {
      listings += 1;
      return Reflect.ownKeys(listings === 1 ? first : then);
    },
    getOwnPropertyDescriptor: (_, name) => {
      const property = Reflect.getOwnPropertyDescriptor(listings === 1 ? first : then, name);
      return property === undefined ? undefined : { ...property, configurable: true };
    },
    get: (_, name) => Reflect.get(listings === 1 ? first : then, name) as unknown,
  });
}

describe("the tree of a JSON value", () => {
  test.each<[string, unknown]>([
    ["a record of records and lists", { a: { b: [1, { c: null }] }, d: [[], {}], e: "x", f: false }],
    ["keys that look like numbers", { 2: "b", 1: "a", "01": "c" }],
    ["a key that is __proto__", JSON.parse('{"__proto__": {"a": 1}, "b": 2}')],
    ["a record without a prototype", Object.assign(Object.create(null), { a: 1 })],
    ["an object of another realm", runInContext("({ a: [1, { b: 2 }] })", createContext())],
    ["a part that is shared", (() => [{ a: 1 }].flatMap((part) => [part, part]))()],
  ])("the tree equals the parsed text of the value: %s", (_, value) => {
    const walk = new TreeWalk(() => null);
    deepStrictEqual(walk.treeOf(value), JSON.parse(JSON.stringify(value)));
    expect(walk.hasTags).toBe(false);
  });

  test("a tree shares no object with the value or between its parts", () => {
    const part = { n: 1 };
    const { value } = codec.roundTrip({ list: [part, part], part }, "value");
    part.n = 2;
    const copy = value as { list: { n: number }[]; part: { n: number } };
    expect(copy).toEqual({ list: [{ n: 1 }, { n: 1 }], part: { n: 1 } });
    expect(copy.list[0]).not.toBe(copy.list[1]);
  });

  test("an object that only imitates data by its properties is rejected", () => {
    const liar = new Proxy({ a: 1 }, { get: () => () => 1 });
    expect(() => codec.roundTrip(liar, "output of step a")).toThrow(
      expect.objectContaining({ code: "PAYLOAD_UNSUPPORTED", message: "output of step a: $.a is a function" }),
    );
  });

  test.each<[string, object]>([
    ["plain", { a: 2 }],
    ["undefined", { a: undefined }],
    ["a number that JSON lacks", { a: -0 }],
    ["a tag", { "~": ["date", 1] }],
  ])("a tree contains one state of a value that changes while it is read: %s", (_, then) => {
    for (const value of [changing({ a: 1 }, then), changing(then, { a: 1 })]) {
      const { payload, value: kept } = codec.roundTrip(value, "value");
      expect([{ a: 1 }, then]).toContainEqual(kept);
      expect(codec.decode(payload)).toEqual(kept);
    }
  });

  test("each getter is read once", () => {
    let reads = 0;
    const value = {
      get count() {
        reads += 1;
        return reads;
      },
      at: new Date(1),
    };
    const { payload, value: kept } = codec.roundTrip({ value }, "value");
    expect(kept).toEqual({ value: { count: 1, at: new Date(1) } });
    expect(codec.decode(payload)).toEqual(kept);
    expect(codec.decode(codec.encode(value, "value"))).toEqual({ count: 2, at: new Date(1) });
    expect(reads).toBe(2);
  });

  test("a getter may encode another value", () => {
    const value = {
      first: new Date(1),
      get second() {
        return codec.encode({ plain: true }, "inner");
      },
    };
    expect(codec.roundTrip(value, "value").value).toEqual({ first: new Date(1), second: '{"plain":true}' });
  });
});
