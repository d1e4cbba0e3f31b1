import fc from "fast-check";
import { expect, test } from "vitest";
import { PawlError } from "./errors.ts";
import { createCodec } from "./payload.ts";

const codec = createCodec(null, { bytesMax: 2 ** 20, warnBytes: 2 ** 20, onLarge: () => {} });

function refusal(value: unknown): string {
  try {
    codec.encode(value, "output of step charge");
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError);
    expect(error).toMatchObject({ code: "PAYLOAD_UNSUPPORTED" });
    return (error as PawlError).message.replace("output of step charge: ", "");
  }
  return "accepted";
}

/** Returns the platform's message of the error that `call` throws. */
function thrown(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing";
}

class Order {
  id = 1;
}

function nest(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

const cycle: { self?: unknown; list: unknown[] } = { list: [] };
cycle.list.push({ up: cycle });

const sparse = [1, 2, 3];
delete sparse[1];

const revoked = Proxy.revocable({}, {});
revoked.revoke();

test("the message contains the name of the value, the path and the reason", () => {
  expect(() => codec.encode({ items: [1, 2, 3, { fn: () => 1 }] }, "output of step charge")).toThrow(
    new PawlError("PAYLOAD_UNSUPPORTED", "output of step charge: $.items[3].fn is a function"),
  );
});

test.each<[string, unknown, string]>([
  ["a function", () => 1, "$ is a function"],
  ["a class", Order, "$ is a function"],
  ["a symbol", { a: Symbol("x") }, "$.a is a symbol"],
  ["a symbol key", { a: { [Symbol("x")]: 1 } }, "$.a has a symbol as a key: Symbol(x)"],
  ["a class instance", [{ order: new Order() }], "$[0].order is an instance of Order"],
  ["an instance of an anonymous class", [new (class {})()], "$[0] is an instance of an anonymous class"],
  ["an array's subclass", new (class Rows extends Array {})(), "$ is an instance of Rows"],
  ["a map's subclass", { m: new (class Cache extends Map {})() }, "$.m is an instance of Cache"],
  ["a cycle", cycle, "$.list[0].up is a cycle: it contains itself"],
  ["a cycle through a map", new Map([["a", cycle]]), "$.a.list[0].up is a cycle: it contains itself"],
  ["a WeakMap", { a: new WeakMap() }, "$.a is an instance of WeakMap"],
  ["a Promise", { a: Promise.resolve() }, "$.a is an instance of Promise"],
  ["a typed array of other bytes", { a: new Float64Array(2) }, "$.a is an instance of Float64Array"],
  ["clamped bytes", new Uint8ClampedArray(2), "$ is an instance of Uint8ClampedArray"],
  ["an ArrayBuffer", { a: new ArrayBuffer(2) }, "$.a is an instance of ArrayBuffer"],
  ["a RegExp", { a: /x/ }, "$.a is an instance of RegExp"],
  ["a boxed number", { a: Object(1) }, "$.a is an instance of Number"],
  ["a URL", new URL("https://example.org"), "$ is an instance of URL"],
  ["a property that is not enumerable", Object.defineProperty({}, "b", { value: 1 }), "$.b is not enumerable"],
  ["a hole", { a: sparse }, "$.a[1] is a hole in the array"],
  ["an array with one far element", Object.assign([], { 4000000: 1 }), "$[0] is a hole in the array"],
  ["the result of a match", { m: "abc".match(/b/) }, "$.m is an array with an extra property: index"],
  [
    "an array with a symbol",
    Object.assign([1], { [Symbol.for("s")]: 1 }),
    "$ is an array with an extra property: Symbol(s)",
  ],
  [
    "a date with a property",
    Object.assign(new Date(0), { zone: "CET" }),
    "$ has extra properties, which would be lost",
  ],
  ["a map with a property", Object.assign(new Map(), { a: 1 }), "$ has extra properties, which would be lost"],
  ["a fake date", { a: Object.create(Date.prototype) }, "$.a is an instance of Date"],
  ["a fake map", { a: Object.create(Map.prototype) }, "$.a is an instance of Map"],
  ["a fake array", { a: Object.create(Array.prototype) }, "$.a is an instance of Array"],
  ["a key that is not an identifier", { "a b": { "": () => 1 } }, '$["a b"][""] is a function'],
  ["a key of a map", new Map([[() => 1, 1]]), "$[key 0] is a function"],
  ["a value of a map under a key that is not a string", new Map([[1, () => 1]]), "$[value 0] is a function"],
  ["a member of a set", { s: new Set([1, () => 1]) }, "$.s[1] is a function"],
  ["a function beside a cycle", { fn: () => 1, cycle }, "$.fn is a function"],
  ["a namespace object", Math, `$.${Object.getOwnPropertyNames(Math)[0]} is not enumerable`],
  ["a toJSON function", { a: 1, toJSON: () => 2 }, "$.toJSON is a function"],
  ["501 levels", nest(501), `$${".a".repeat(50).slice(0, -1)}…${".a".repeat(50)} is nested deeper than 500 levels`],
  [
    "a revoked proxy",
    { a: revoked.proxy },
    `$.a cannot be read: ${thrown(() => Object.getPrototypeOf(revoked.proxy))}`,
  ],
])("%s is rejected", (_, value, message) => {
  expect(refusal(value)).toBe(message);
});

test("a value of 100,000 levels gets the typed error, not a stack overflow", () => {
  expect(refusal(nest(100_000))).toMatch(/nested deeper than 500 levels$/);
});

test("a getter that throws gets the typed error with its path", () => {
  const value = {
    a: {
      get b(): number {
        throw new Error("not yet");
      },
    },
  };
  expect(refusal(value)).toBe("$.a cannot be read: not yet");
  expect(() => codec.encode(value, "value")).toThrow(
    expect.objectContaining({ cause: expect.objectContaining({ message: "not yet" }) }),
  );
  expect(() => codec.encode(() => 1, "value")).toThrow(expect.not.objectContaining({ cause: expect.anything() }));
});

test("a proxy that throws gets the typed error with its path", () => {
  const trap = (): never => {
    throw new Error("trapped");
  };
  for (const name of ["getPrototypeOf", "ownKeys", "getOwnPropertyDescriptor"] as const) {
    expect(refusal({ a: [new Proxy({ x: 1 }, { [name]: trap })] })).toBe("$.a[0] cannot be read: trapped");
  }
  expect(refusal({ a: new Proxy({ x: 1 }, { get: trap }) })).toBe("$.a cannot be read: trapped");
});

test("a proxy that grows without end gets the typed error", () => {
  const endless = (): object =>
    new Proxy(
      { next: 1 },
      {
        getOwnPropertyDescriptor: () => ({ value: endless(), enumerable: true, configurable: true, writable: true }),
        get: (_, key) => (key === "next" ? endless() : undefined),
      },
    );
  expect(refusal(endless())).toMatch(/nested deeper than 500 levels$/);
});

test("encode returns a payload for any value, or throws the typed error with a path", () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    withNullPrototype: true,
    withObjectString: true,
  });
  fc.assert(
    fc.property(anything, (value) => {
      const text = refusal({ value });
      if (text !== "accepted") expect(text).toMatch(/^\$\.value.* is (an instance of|a hole)/);
    }),
    { numRuns: 2_000 },
  );
});
