import { deepStrictEqual } from "node:assert/strict";
import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PawlError } from "./errors.ts";
import { type Codec, type CodecHook, createCodec, type PayloadLimits } from "./payload.ts";

const UNLIMITED: PayloadLimits = { bytesMax: 2 ** 30, warnBytes: 2 ** 30, onLarge: () => {} };
const codec = createCodec(null, UNLIMITED);

function throughText(value: unknown, by: Codec = codec): unknown {
  return by.decode(by.encode(value, "value"));
}

function nest(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = wrap(1);
  for (let level = 1; level < levels; level++) value = wrap(value);
  return value;
}

/** Bun's `deepStrictEqual` rejects equal maps that have similar keys with different values. */
const ON_BUN = "bun" in process.versions;

/** Any keys, with a preference for special ones. */
const key = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom(
    "__proto__",
    "~",
    "constructor",
    "prototype",
    "toJSON",
    "",
    "snake_case",
    "0",
    "\0",
    "\ud800",
    "length",
  ),
);

const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string(),
      fc.constantFrom("\0", "\ud800", "\udc00x", '{"~":', '{"~":["date",1]}', "~", "💥"),
      fc.double(),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom(null, undefined, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5e-324),
      fc.bigInt(),
      // deepStrictEqual of Node 20 considers two invalid dates different. They have a separate test.
      fc.date({ noInvalidDate: true }),
      fc.uint8Array(),
    ),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
    fc
      .array(fc.tuple(ON_BUN ? key : tie("value"), tie("value")), { maxLength: 4 })
      .map((entries) => new Map<unknown, unknown>(entries)),
    fc.array(tie("value"), { maxLength: 4 }).map((members) => new Set(members)),
  ),
}));

describe("supported values", () => {
  test("any supported value decodes to an equal value", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        deepStrictEqual(throughText(value), value);
      }),
      { numRuns: 2_000 },
    );
  });

  test("the value of the first run equals the value of a replay, and the text is JSON", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const first = codec.roundTrip(value, "value");
        deepStrictEqual(first.payload, codec.encode(value, "value"));
        deepStrictEqual(first.value, codec.decode(first.payload));
        if (first.payload !== null) JSON.parse(first.payload);
      }),
      { numRuns: 1_000 },
    );
  });

  test("a payload is well-formed text without NUL", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(codec.encode(value, "value") ?? "").not.toMatch(/[\0\p{Surrogate}]/u);
      }),
    );
  });

  test("undefined is the payload null, and null is not", () => {
    expect(codec.encode(undefined, "value")).toBe(null);
    expect(codec.decode(null)).toBe(undefined);
    expect(codec.encode(null, "value")).toBe("null");
    expect(codec.decode("null")).toBe(null);
  });

  test.each<[string, unknown]>([
    ["undefined in an array", [1, undefined, 2]],
    ["undefined as a property", { a: undefined, b: 1 }],
    ["-0", -0],
    ["-0 in an array", [-0]],
    ["NaN", Number.NaN],
    ["the last date there is", new Date(8.64e15)],
    [
      "a map with objects, NaN and undefined as keys",
      new Map<unknown, unknown>([
        [{ a: 1 }, 1],
        [Number.NaN, 2],
        [undefined, 3],
      ]),
    ],
    ["a set of sets", new Set([new Set([1]), new Set()])],
    ["no bytes", new Uint8Array()],
    ["a big integer", -(2n ** 200n)],
    ["an object that looks like a tag", { "~": ["date", 0] }],
    ["an object with the tag's key among others", { a: 1, "~": { "~": 1n }, b: undefined }],
    ["a text that looks like a tag", { text: '{"~":["date",0]}' }],
    ["an empty object and an empty array", [{}, []]],
    ["keys that look like numbers", { 2: "b", 1: "a", "01": "c" }],
    ["a property named toJSON that is data", { toJSON: "x" }],
    ["the largest safe integers", [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, Number.MAX_VALUE]],
  ])("%s decodes to an equal value", (_, value) => {
    deepStrictEqual(throughText(value), value);
    deepStrictEqual(codec.roundTrip(value, "value").value, value);
  });

  test("an invalid date stays an invalid date", () => {
    const back = throughText({ at: new Date(Number.NaN) }) as { at: Date };
    expect(back.at).toBeInstanceOf(Date);
    expect(back.at.getTime()).toBe(Number.NaN);
  });

  test("an own __proto__ stays a property and changes no prototype", () => {
    for (const text of ['{"__proto__":{"admin":true}}', '{"a":{"~":["undefined",null]},"__proto__":{"admin":true}}']) {
      const value = codec.decode(text) as Record<string, unknown>;
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.hasOwn(value, "__proto__")).toBe(true);
      expect(value.admin).toBe(undefined);
      expect(codec.encode(value, "value")).toBe(text);
    }
    expect(({} as Record<string, unknown>).admin).toBe(undefined);
  });

  test("an object without a prototype becomes a plain object", () => {
    const value: Record<string, unknown> = Object.assign(Object.create(null), { a: 1, b: undefined });
    deepStrictEqual(throughText(value), { a: 1, b: undefined });
  });

  test("a Buffer comes back as a Buffer with separate memory", () => {
    const back = throughText({ file: Buffer.from("hällo") }) as { file: Buffer };
    expect(Buffer.isBuffer(back.file)).toBe(true);
    expect(back.file.toString()).toBe("hällo");
    expect(back.file.buffer.byteLength).toBe(back.file.byteLength);
  });

  test("bytes that an earlier release stored for a Buffer come back as a Uint8Array", () => {
    expect(codec.decode('{"~":["bytes","AQI="]}')).toEqual(new Uint8Array([1, 2]));
    expect(() => codec.decode('{"~":["buffer","AQI"]}')).toThrow("its bytes is damaged");
  });

  test("a view of a larger buffer is stored without the rest of the buffer", () => {
    const view = new Uint8Array(new Uint8Array([1, 2, 3, 4, 5]).buffer, 1, 3);
    deepStrictEqual(throughText(view), new Uint8Array([2, 3, 4]));
  });

  test("a shared object is not a cycle", () => {
    const shared = { n: 1n };
    deepStrictEqual(throughText([shared, { shared }]), [{ n: 1n }, { shared: { n: 1n } }]);
  });

  test("values of another realm are recognized by kind", () => {
    const value: unknown = runInContext(
      '({ list: [1, undefined], at: new Date(5), map: new Map([[1, 2]]), set: new Set(["a"]), bytes: new Uint8Array([7]) })',
      createContext(),
    );
    deepStrictEqual(throughText(value), {
      list: [1, undefined],
      at: new Date(5),
      map: new Map([[1, 2]]),
      set: new Set(["a"]),
      bytes: new Uint8Array([7]),
    });
    expect((throughText(runInContext('new TypeError("far away")', createContext())) as Error).message).toBe("far away");
  });

  test("a value of any containers may be nested 500 levels deep", () => {
    for (const wrap of [
      (inner: unknown) => [inner],
      (inner: unknown) => ({ inner }),
      (inner: unknown) => new Map([["inner", inner]]),
      (inner: unknown) => new Map([[inner, 1]]),
      (inner: unknown) => new Set([inner]),
      (inner: unknown) => ({ "~": inner }),
    ]) {
      const value = nest(500, wrap);
      expect(codec.encode(throughText(value), "value")).toBe(codec.encode(value, "value"));
    }
  });
});

describe("errors as values", () => {
  test("an error keeps name, message, stack, code, cause and data, and loses other properties", () => {
    const error = Object.assign(new RangeError("too far", { cause: new Error("root") }), {
      code: "E_FAR",
      meters: 12n,
      at: new Date(3),
      socket: new (class Socket {})(),
      retry: () => true,
    });
    const back = throughText([error]) as [RangeError & Record<string, unknown>];
    expect(back[0]).toBeInstanceOf(RangeError);
    expect(back[0]).toMatchObject({ name: "RangeError", message: "too far", code: "E_FAR", meters: 12n });
    expect(back[0].stack).toBe(error.stack);
    expect(back[0].cause).toMatchObject({ message: "root" });
    deepStrictEqual(Object.keys(back[0]), ["code", "meters", "at"]);
  });

  test("a circular cause ends the chain", () => {
    const outer = new Error("outer");
    outer.cause = new Error("inner", { cause: outer });
    const back = throughText(outer) as Error;
    expect(back.message).toBe("outer");
    expect((back.cause as Error).message).toBe("inner");
    expect((back.cause as Error).cause).toBe(undefined);
  });

  test("errors in properties of errors survive in a deep value", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 19; level++) deep = new Map([[1, deep]]);
    let error = Object.assign(new Error("bottom"), { deep });
    for (let level = 0; level < 7; level++) error = Object.assign(new Error(`level ${level}`), { deep: [error, deep] });
    const value = nest(499, (inner) => (inner === 1 ? [error] : [inner]));
    expect(codec.encode(throughText(value), "value")).toBe(codec.encode(value, "value"));
  });
});

describe("the codec hook", () => {
  const rot: CodecHook = {
    encode: (text) => `rot:${Buffer.from(text).reverse().toString("base64")}`,
    decode: (text) => {
      if (!text.startsWith("rot:")) throw new Error("not mine");
      return Buffer.from(text.slice(4), "base64").reverse().toString();
    },
  };
  const hooked = createCodec(rot, UNLIMITED);

  test("a codec hook encodes every payload except undefined", () => {
    expect(hooked.encode(undefined, "value")).toBe(null);
    expect(hooked.decode(null)).toBe(undefined);
    fc.assert(
      fc.property(anyValue, (value) => {
        const { payload, value: first } = hooked.roundTrip(value, "value");
        if (value !== undefined) expect(payload).toMatch(/^rot:/);
        deepStrictEqual(hooked.decode(payload), value);
        deepStrictEqual(first, value);
      }),
    );
  });

  test("a payload of another codec is corrupt", () => {
    expect(() => hooked.decode(codec.encode({ a: 1 }, "value"))).toThrow(
      expect.objectContaining({ code: "PAYLOAD_UNREADABLE", cause: expect.objectContaining({ message: "not mine" }) }),
    );
    expect(() => codec.decode(hooked.encode({ a: 1 }, "value"))).toThrow(
      expect.objectContaining({ code: "PAYLOAD_UNREADABLE" }),
    );
  });

  test.each<[string, unknown]>([
    ["no string", 5],
    ["text with NUL", "a\0b"],
    ["a text with half a surrogate pair", "a\ud800"],
  ])("a codec hook that returns %s is rejected", (_, packed) => {
    const broken = createCodec({ encode: () => packed as string, decode: (text) => text }, UNLIMITED);
    expect(() => broken.encode(1, "input of r1")).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });

  test("an error thrown by a codec hook reaches the caller", () => {
    const broken = createCodec({ encode: () => expect.unreachable("no key"), decode: (text) => text }, UNLIMITED);
    expect(() => broken.encode(1, "value")).toThrow("no key");
  });
});

describe("encodeWith", () => {
  const facts = { id: 'm"1\0\ud800', sentAt: 5 };
  const doubled = createCodec(
    { encode: (text) => text + text, decode: (text) => text.slice(text.length / 2) },
    UNLIMITED,
  );

  test.each([
    ["as it is", codec],
    ["through a hook", doubled],
  ])("a payload is embedded as if the whole value were encoded, %s", (_, by) => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(by.encodeWith(by.encode(value, "value"), facts, "both")).toBe(by.encode({ value, ...facts }, "both"));
      }),
    );
  });

  test("the size limit applies to the whole embedded payload", () => {
    const small = createCodec(null, { ...UNLIMITED, bytesMax: 40 });
    const payload = small.encode("x".repeat(20), "value");
    expect(() => small.encodeWith(payload, facts, "both")).toThrow(
      expect.objectContaining({ code: "PAYLOAD_TOO_LARGE", message: expect.stringMatching(/^both is /) }),
    );
  });
});

describe("limits", () => {
  function limited(bytesMax: number, warnBytes: number): { codec: Codec; large: [string, number][] } {
    const large: [string, number][] = [];
    return { codec: createCodec(null, { bytesMax, warnBytes, onLarge: (...call) => large.push(call) }), large };
  }

  test("payload limits count bytes of UTF-8, including quotes", () => {
    for (const [text, bytes] of [
      ["aaaaaaaa", 10],
      ["ää", 6],
      ["€€", 8],
      ["💥", 6],
    ] as const) {
      expect(limited(bytes, bytes).codec.encode(text, "value")).toBe(`"${text}"`);
      expect(() => limited(bytes - 1, 1_000).codec.encode(text, "output of step charge")).toThrow(
        expect.objectContaining({
          code: "PAYLOAD_TOO_LARGE",
          message: `output of step charge is ${bytes} bytes; payloadBytesMax is ${bytes - 1}`,
        }),
      );
    }
  });

  test("a payload above warnBytes is reported once and encoded", () => {
    const { codec: small, large } = limited(1_000, 10);
    small.encode("12345678", "just fits");
    small.encode("123456789", "one more");
    expect(small.roundTrip("123456789", "again").payload).toBe('"123456789"');
    expect(large).toEqual([
      ["one more", 11],
      ["again", 11],
    ]);
  });

  test("the size limit applies to the output of a codec hook, not to its input", () => {
    const shrinking = createCodec({ encode: () => "x", decode: () => "1" }, { ...UNLIMITED, bytesMax: 10 });
    expect(shrinking.encode("a".repeat(1_000), "value")).toBe("x");
  });

  test("large values pass a large limit", () => {
    for (const megabytes of [1, 16]) {
      const text = "é".repeat(megabytes * 2 ** 19);
      expect(throughText({ text })).toEqual({ text });
    }
  });

  test("a value of shared objects is rejected by the number of values that it expands to", () => {
    const value = nest(60, (inner) => ({ a: inner, b: inner }));
    expect(() => codec.encode(value, "output of step grow")).toThrow(
      expect.objectContaining({
        code: "PAYLOAD_TOO_LARGE",
        message: "output of step grow: $ contains more than 10000000 values",
      }),
    );
  });
});

describe("decoding a stored text", () => {
  test.each([
    ["", "no text"],
    ["{", "half a text"],
    ["nul", "half a word"],
    ['{"~":1}', "a tag that is not a pair"],
    ['{"~":["date"]}', "a tag without content"],
    ['{"~":["date",1,2]}', "a tag with too much"],
    ['{"~":["date","1"]}', "a date that is a text"],
    ['{"~":["number","12"]}', "a number that needs no tag"],
    ['{"~":["bigint","0x10"]}', "a bigint in another notation"],
    ['{"~":["bigint",""]}', "an empty bigint"],
    ['{"~":["map",[[1]]]}', "a map with half an entry"],
    ['{"~":["map",{"~":["map",[]]}]}', "a map of a map"],
    ['{"~":["set",{}]}', "a set of an object"],
    ['{"~":["bytes","a*"]}', "bytes that are not base64"],
    ['{"~":["bytes",[1]]}', "bytes as numbers"],
    ['{"~":["error",{"name":"E"}]}', "an error without a message"],
    ['{"~":["error",{"name":"E","message":"m","cause":1}]}', "an error with a cause that is not an error"],
    ['{"~":["error",{"name":"E","message":"m","details":1}]}', "an error with details that are not an object"],
    ['{"~":["object",[]]}', "an object that is an array"],
    ['{"~":["temporal","x"]}', "a tag of a later version"],
    ['{"~":["constructor",1]}', "a tag named like a method"],
  ])("%s is corrupt: %s", (text) => {
    expect(() => codec.decode(text)).toThrow(
      expect.objectContaining({ name: "PawlError", code: "PAYLOAD_UNREADABLE" }),
    );
  });

  test("the error about an unknown tag contains its name", () => {
    expect(() => codec.decode('{"~":["temporal","x"]}')).toThrow(
      'a stored value cannot be read: it has a tag that this version does not support: "temporal"',
    );
  });

  test("a deeply nested text is corrupt, not a stack overflow", () => {
    const levels = 100_000;
    const text = `${'[{"~":["set",['.repeat(levels)}${"]]}]".repeat(levels)}`;
    expect(() => codec.decode(text)).toThrow(expect.objectContaining({ code: "PAYLOAD_UNREADABLE" }));
  });

  test("texts written by the first version are decoded", () => {
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

  test("decoding a damaged text returns a value or throws the typed error", () => {
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
          expect(error).toMatchObject({ code: "PAYLOAD_UNREADABLE" });
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
