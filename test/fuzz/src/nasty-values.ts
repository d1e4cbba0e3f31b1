/** Values that plain JavaScript may pass anywhere, by name: each is built anew for each use. */
export const NASTY = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  false: () => false,
  NaN: () => Number.NaN,
  "-0": () => -0,
  "-1": () => -1,
  "1.5": () => 1.5,
  "-1.5": () => -1.5,
  Infinity: () => Number.POSITIVE_INFINITY,
  "-Infinity": () => Number.NEGATIVE_INFINITY,
  "2**31": () => 2 ** 31,
  "2**53": () => 2 ** 53,
  "-(2**53)": () => -(2 ** 53),
  "1e300": () => 1e300,
  "Number.MAX_VALUE": () => Number.MAX_VALUE,
  "Number.MIN_VALUE": () => Number.MIN_VALUE,
  "0n": () => 0n,
  "10n": () => 10n,
  "2n**70n": () => 2n ** 70n,
  empty: () => "",
  blank: () => " ",
  NUL: () => "\0",
  "NUL inside": () => "a\0b",
  "line break": () => "a\nb",
  "half a pair": () => "\ud800",
  "other half of a pair": () => "\udc00x",
  noncharacter: () => "\ufffe0000",
  "byte order mark": () => "\ufeff",
  emoji: () => "💥".repeat(130),
  "long text": () => "x".repeat(256),
  "longer text": () => "ä".repeat(3_000),
  "random CJK text": () =>
    Array.from({ length: 255 }, (_, n) => String.fromCharCode(0x4e00 + ((n * 7_919) % 20_000))).join(""),
  "huge text": () => "x".repeat(3_000_000),
  slashes: () => "a//b",
  "slash at the start": () => "/",
  "a tilde": () => "~3",
  "text of a number": () => "10",
  "text of a fraction": () => "1e-3",
  "text of a duration": () => "1 s",
  "SQL injection": () => "'); DROP TABLE runs; --",
  "pattern of LIKE": () => "%_",
  JSON: () => '{"kind":"x"}',
  XML: () => "<foo/>",
  "cursor of another list": () => btoa('["letters",1]'),
  "cursor of a huge number": () => btoa('["runs",1e308,"r"]'),
  "cursor of a fraction": () => btoa('["letters",1.5]'),
  "cursor that is no JSON": () => btoa("{"),
  "text __proto__": () => "__proto__",
  "text constructor": () => "constructor",
  "text toString": () => "toString",
  "a symbol": () => Symbol("nasty"),
  "a well-known symbol": () => Symbol.iterator,
  "a function": () => () => undefined,
  "an asynchronous function": () => async () => undefined,
  "a function that returns itself": () => {
    const self = (): unknown => self;
    return self;
  },
  "a list": () => [],
  "a list of undefined": () => [undefined],
  "a list of lists": () => [[], [[]]],
  "a list with holes": () => Object.assign(new Array(3), { 1: "m" }),
  "a list with a property": () => Object.assign(["m"], { extra: 1 }),
  "a long list": () => new Array(200_000).fill("m"),
  "an object": () => ({}),
  "an object with __proto__": () => JSON.parse('{"__proto__":{"id":"x","kind":"send"}}') as unknown,
  "an object without a prototype": () => Object.assign(Object.create(null) as object, { kind: "send" }),
  "an object that inherits": () => Object.create({ id: "inherited", name: "m", kind: "resume", limit: 1 }) as unknown,
  "an object with unknown options": () => ({ colour: "red", idd: 1 }),
  "an object of numbers": () => ({ 0: "a", 1: "b", length: 2 }),
  "a frozen object": () => Object.freeze({ id: "m" }),
  "an object with a symbol": () => ({ [Symbol("key")]: 1 }),
  "a class instance": () => new Instance(),
  "a cyclic object": () => {
    const cycle: Record<string, unknown> = { name: "m" };
    cycle.self = cycle;
    return cycle;
  },
  "a cyclic list": () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    return cycle;
  },
  "a deep object": () => nested(20_000),
  "a getter that throws": () => ({
    get id(): never {
      throw new TypeError("no id");
    },
    get kind(): never {
      throw new TypeError("no kind");
    },
    get name(): never {
      throw new TypeError("no name");
    },
  }),
  "a getter that throws no error": () => ({
    get id(): never {
      const nothing: unknown = null;
      throw nothing;
    },
  }),
  "a getter that counts": () => {
    let reads = 0;
    return {
      get id() {
        reads += 1;
        return reads;
      },
    };
  },
  "a proxy that throws": () => new Proxy({}, throwing()),
  "a proxy of a list that throws": () => new Proxy([1, 2], throwing()),
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  "an object whose text throws": () => ({
    toString(): never {
      throw new Error("no text");
    },
    valueOf(): never {
      throw new Error("no value");
    },
    toJSON(): never {
      throw new Error("no JSON");
    },
  }),
  "an object with another class": () => ({ [Symbol.toStringTag]: "Array" }),
  "a boxed text": () => Object("m") as unknown,
  "a boxed number": () => Object(5) as unknown,
  "a map": () => new Map([["id", "m"]]),
  "a set": () => new Set(["m"]),
  "a weak map": () => new WeakMap(),
  "a promise": () => Promise.resolve("m"),
  "a thenable": () => thenable((done) => done("m")),
  "a thenable that never settles": () => thenable(() => undefined),
  "an invalid date": () => new Date(Number.NaN),
  "the last date": () => new Date(8.64e15),
  "a date before 1970": () => new Date(-1),
  "an error": () => new RangeError("nasty"),
  "a pattern": () => /m/g,
  bytes: () => Uint8Array.of(0, 255, 128),
  "a buffer": () => Buffer.from("m"),
  "an array buffer": () => new ArrayBuffer(8),
  "the global object": () => globalThis,
  "an aborted signal": () => AbortSignal.abort(),
} as const satisfies Readonly<Record<string, () => unknown>>;

export type NastyName = keyof typeof NASTY;

class Instance {
  readonly id = "instance";
  readonly #secret = 1;
  get name(): string {
    return `m${this.#secret}`;
  }
}

function nested(depth: number): unknown {
  let value: unknown = "m";
  for (let level = 0; level < depth; level += 1) value = { value };
  return value;
}

/** Every trap throws, so nothing can be learned of the object but its type. */
function throwing(): ProxyHandler<never> {
  const trap = (): never => {
    throw new Error("trapped");
  };
  return {
    get: trap,
    has: trap,
    ownKeys: trap,
    getOwnPropertyDescriptor: trap,
    getPrototypeOf: trap,
    set: trap,
    apply: trap,
    construct: trap,
  };
}

/** Assembled, because the linter forbids objects that look like promises. */
const THEN = ["th", "en"].join("");

function thenable(call: (done: (value: string) => void) => void): object {
  return Object.fromEntries([[THEN, call]]);
}
