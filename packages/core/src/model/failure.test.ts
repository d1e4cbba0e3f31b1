import { deepStrictEqual } from "node:assert/strict";
import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CriticalError, PawlError } from "./errors.ts";
import { briefFailure, type Failure, isFailure, toError, toFailure } from "./failure.ts";
import { createCodec } from "./payload.ts";

const codec = createCodec(null, { bytesMax: 2 ** 24, warnBytes: 2 ** 24, onLarge: () => {} });

class PaymentError extends Error {
  override readonly name = "PaymentError";
  readonly code = "card_declined";
  readonly amount: { cents: number; at: Date };
  readonly #secret = "hidden";
  constructor(cents: number) {
    super(`${cents} cents were declined`);
    this.amount = { cents, at: new Date(cents) };
  }
  secret(): string {
    return this.#secret;
  }
}

class Response {
  status = 404;
}

const trap = (): never => {
  throw new Error("trapped");
};

function with_(error: Error, properties: Record<PropertyKey, unknown>): Error {
  return Object.assign(error, properties);
}

function chain(length: number): Error {
  let error = new Error("cause 0");
  for (let index = 1; index <= length; index++) error = new Error(`cause ${index}`, { cause: error });
  return error;
}

function circular(): Error {
  const error = new Error("a");
  error.cause = new Error("b", { cause: new Error("c", { cause: error }) });
  return error;
}

function ownCause(): Error {
  const error = new Error("own");
  error.cause = error;
  return error;
}

function selfContaining(): Error {
  const error = with_(new Error("me"), { n: 1 });
  return with_(error, { self: error, list: [error, { error }], other: with_(new Error("other"), { back: error }) });
}

function throwingGetters(): Error {
  const error = new Error("good");
  for (const key of ["code", "detail", "attempts"]) Object.defineProperty(error, key, { get: trap, enumerable: true });
  return error;
}

function withoutStack(): Error {
  const error = new Error("no stack");
  delete error.stack;
  return error;
}

/** Title, thrown value, and the fields that its failure must have. */
const shapes: readonly (readonly [string, unknown, Partial<Failure>])[] = [
  ["an error", new Error("boom"), { name: "Error", message: "boom" }],
  ["an error without a message", new Error(), { name: "Error", message: "" }],
  ["a TypeError", new TypeError("t"), { name: "TypeError", message: "t" }],
  [
    "a subclass with fields",
    new PaymentError(5),
    { code: "card_declined", details: { amount: { cents: 5, at: new Date(5) } } },
  ],
  ["a PawlError", new PawlError("STEP_TIMEOUT", "s"), { name: "PawlError", code: "STEP_TIMEOUT" }],
  ["a CriticalError", new CriticalError("c"), { name: "CriticalError", code: "CRITICAL" }],
  ["a numeric code", with_(new Error("e"), { code: -104 }), { code: -104 }],
  ["a code that is an object", with_(new Error("e"), { code: { a: 1 } }), { details: { code: { a: 1 } } }],
  [
    "a system error",
    with_(new Error("connect"), { code: "ECONNREFUSED", errno: -111, syscall: "connect" }),
    { code: "ECONNREFUSED", details: { errno: -111, syscall: "connect" } },
  ],
  [
    "a cause",
    new Error("outer", { cause: new TypeError("inner") }),
    { cause: expect.objectContaining({ name: "TypeError" }) },
  ],
  [
    "a cause that is a text",
    new Error("outer", { cause: "why" }),
    { cause: { name: "NonError", message: "why", details: { thrown: "why" } } },
  ],
  [
    "a cause that is null",
    new Error("outer", { cause: null }),
    { cause: { name: "NonError", message: "null was thrown", details: { thrown: null } } },
  ],
  ["a circular cause", circular(), { message: "a" }],
  ["an error that is its own cause", ownCause(), { message: "own" }],
  ["a hundred causes", chain(100), { message: "cause 100" }],
  ["an aggregate", new AggregateError([new Error("1"), "2"], "both"), { name: "AggregateError", message: "both" }],
  ["an error that contains itself", selfContaining(), { message: "me" }],
  [
    "properties that are no data",
    with_(new Error("e"), { fn: trap, response: new Response(), [Symbol("s")]: 1, kept: 1n }),
    { details: { kept: 1n } },
  ],
  ["attempts", with_(new Error("e"), { attempts: 3 }), { attempts: 3 }],
  ["attempts that are no count", with_(new Error("e"), { attempts: "3" }), { details: { attempts: "3" } }],
  ["a property named details", with_(new Error("e"), { details: { x: 1 } }), { details: { details: { x: 1 } } }],
  [
    "an own __proto__",
    Object.defineProperty(new Error("e"), "__proto__", { value: { x: 1 }, enumerable: true }),
    { message: "e" },
  ],
  ["getters that throw", throwingGetters(), { message: "good" }],
  ["no stack", withoutStack(), { message: "no stack" }],
  ["a message that is no text", with_(new Error(), { message: { a: 1 } }), { message: '{"a":1}' }],
  ["a name that is no text", with_(new Error("m"), { name: 5 }), { name: "Error", message: "m" }],
  ["strange characters", new Error("\0 \ud800 💥 \u2028"), { message: "\0 \ud800 💥 \u2028" }],
  [
    "bytes among the properties",
    with_(new Error("e"), { body: Buffer.from([1]) }),
    { details: { body: Buffer.from([1]) } },
  ],
  ["an abort", new DOMException("stop", "AbortError"), { name: "AbortError", message: "stop", code: 20 }],
  [
    "an error of another realm",
    runInContext('new RangeError("far")', createContext()),
    { name: "RangeError", message: "far" },
  ],
  ["an object with Error's prototype", Object.create(Error.prototype), { name: "Error", message: "" }],
  [
    "a plain object that looks like an error",
    { name: "Http", message: "404", code: 404, url: "/x" },
    { name: "Http", message: "404", code: 404, details: { url: "/x" } },
  ],
  [
    "a class instance that looks like an error",
    Object.assign(new Response(), { message: "gone" }),
    { name: "Error", message: "gone", details: { status: 404 } },
  ],
  ["a text", "boom", { name: "NonError", message: "boom", details: { thrown: "boom" } }],
  ["an empty text", "", { message: "", details: { thrown: "" } }],
  ["undefined", undefined, { message: "undefined was thrown", details: { thrown: undefined } }],
  ["null", null, { message: "null was thrown", details: { thrown: null } }],
  ["a number", -0, { message: "-0 was thrown", details: { thrown: -0 } }],
  ["a bigint", 5n, { message: "5n was thrown", details: { thrown: 5n } }],
  ["a symbol", Symbol("s"), { name: "NonError", message: "Symbol(s) was thrown" }],
  ["a function", trap, { name: "NonError", message: "a function was thrown" }],
  ["a plain object", { status: 404 }, { message: '{"status":404} was thrown', details: { thrown: { status: 404 } } }],
  ["an array", [1, undefined], { message: "[1,null] was thrown", details: { thrown: [1, undefined] } }],
  ["a promise", Promise.resolve(), { message: "[object Promise] was thrown" }],
  ["a date", new Date(0), { message: "[object Date] was thrown", details: { thrown: new Date(0) } }],
  [
    "a proxy of an error that throws from everything but its prototype",
    new Proxy(new Error("in"), { get: trap, ownKeys: trap, has: trap, getOwnPropertyDescriptor: trap }),
    { name: "Error", message: "" },
  ],
  [
    "a proxy that throws from everything",
    new Proxy({}, { get: trap, ownKeys: trap, getPrototypeOf: trap }),
    { name: "NonError", message: "the thrown value cannot be read: trapped" },
  ],
];

describe("a thrown value survives conversion to a failure and back", () => {
  test.each(shapes)("%s", (_, thrown, expected) => {
    const failure = toFailure(thrown);
    expect(failure).toMatchObject(expected);
    expect(isFailure(failure)).toBe(true);
    // The codec must keep the failure, as data and as an error.
    deepStrictEqual(codec.decode(codec.encode(failure, "failure")), failure);
    const error = toError(failure);
    expect(error).toBeInstanceOf(Error);
    deepStrictEqual(codec.decode(codec.encode(error, "failure")), error);
    // A second conversion must lose nothing.
    deepStrictEqual(toFailure(error), failure);
  });

  test("data in the properties of an error survives", () => {
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom("__proto__", "~", "code", "attempts", "errors", "toString", "details"),
    );
    const data = fc.anything({ withBigInt: true, withMap: true, withSet: true, withNullPrototype: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(key, data)), data, (entries, thrown) => {
        const error = new Error("e");
        for (const [name, value] of entries) {
          Object.defineProperty(error, name, { value, enumerable: true, configurable: true });
        }
        for (const failure of [toFailure(error), toFailure(thrown)]) {
          deepStrictEqual(codec.decode(codec.encode(failure, "failure")), failure);
          deepStrictEqual(toFailure(toError(failure)), failure);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("toError", () => {
  test("an error created from a failure has the built-in class of the failure's name", () => {
    for (const Native of [TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError]) {
      expect(toError(toFailure(new Native("x")))).toBeInstanceOf(Native);
    }
    const aggregate = toError(toFailure(new AggregateError([new TypeError("1")], "both"))) as AggregateError;
    expect(aggregate).toBeInstanceOf(AggregateError);
    expect(aggregate.errors[0]).toBeInstanceOf(TypeError);
  });

  test("an error created from a failure has the original stack and lists only its own properties", () => {
    const first = new PaymentError(5);
    const error = toError(toFailure(first));
    expect(error.stack).toBe(first.stack);
    expect(String(error)).toBe("PaymentError: 5 cents were declined");
    deepStrictEqual(Object.keys(error), ["code", "amount"]);
  });

  test("a failure stores a chain of at most eight causes", () => {
    let error: unknown = toError(toFailure(chain(100)));
    const messages: string[] = [];
    for (; error instanceof Error; error = error.cause) messages.push(error.message);
    deepStrictEqual(messages, [
      "cause 100",
      "cause 99",
      "cause 98",
      "cause 97",
      "cause 96",
      "cause 95",
      "cause 94",
      "cause 93",
      "cause 92",
    ]);
  });

  test("a failure with itself as its cause keeps name and message at that place", () => {
    const error = toError(toFailure(selfContaining())) as Error & { self: Error; other: Error & { back: Error } };
    expect(error.self).toMatchObject({ name: "Error", message: "me" });
    deepStrictEqual(Object.keys(error.self), []);
    expect(error.other.back).toMatchObject({ message: "me" });
  });

  test("a failure shares no object with the thrown error", () => {
    const thrown = with_(new Error("e"), { list: [1] }) as Error & { list: number[] };
    const failure = toFailure(thrown);
    thrown.list.push(2);
    deepStrictEqual(failure.details, { list: [1] });
  });
});

test("errors that contain each other many times are described in bounded time", () => {
  const errors = Array.from({ length: 12 }, (_, index) => new Error(`e${index}`));
  for (const error of errors) with_(error, { errors, cause: errors[0] });
  const failure = toFailure(errors[1]);
  expect(failure.message).toBe("e1");
  expect(isFailure(codec.decode(codec.encode(failure, "failure")))).toBe(true);
});

test("a brief failure of any failure is small", () => {
  const huge = "x".repeat(1_000_000);
  const brief = briefFailure({ name: huge, message: huge, code: huge, stack: huge, details: { huge }, attempts: 3 });
  expect(codec.encode(brief, "failure")?.length).toBeLessThan(4_000);
  expect(brief.attempts).toBe(3);
  deepStrictEqual(briefFailure({ name: "E", message: "m", code: 5 }), { name: "E", message: "m", code: 5 });
});

test("a value that is not a failure is not decoded as one", () => {
  for (const value of [null, undefined, 1, "x", {}, { name: "E" }, { name: "E", message: "m", stack: 1 }]) {
    expect(isFailure(value)).toBe(false);
  }
  const endless: Record<string, unknown> = { name: "E", message: "m" };
  endless.cause = endless;
  expect(isFailure(endless)).toBe(false);
});
