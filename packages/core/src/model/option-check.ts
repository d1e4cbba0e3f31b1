import { bytes } from "./bytes.ts";
import { type Duration, parseDuration } from "./duration.ts";
import { type ErrorCode, PawlError } from "./errors.ts";
import { checkName, checkRunId, checkTarget } from "./names.ts";
import { createCodec } from "./payload.ts";
import { shortText, textOf } from "./payload-values.ts";

/**
 * The checks of arguments and options of the public API, as data: each has a kind of value.
 *
 * 1. A check returns the value, or throws a `PawlError` of the form `option must be …; got …`, also for getters and proxies that throw.
 * 2. Options, lists and maps are returned as copies, whose parts were read once: a getter cannot return another value later.
 * 3. An option that is undefined counts as omitted. An unknown option is an error that names the known ones.
 */
export interface OptionKind<out Value = unknown> {
  /** Completes "must be …" in the error. */
  readonly allowed: string;
  readonly code: ErrorCode;
  readonly isRequired: boolean;
  /** Whether undefined is a value like any other, and does not count as omitted. */
  readonly keepsUndefined: boolean;
  fits(value: unknown): boolean;
  /** Called with a value that fits. `option` names it in an error. */
  read(value: unknown, option: string): Value;
}

/** The kind of every option of `Options`. The compiler finds an option without a kind. */
export type OptionKinds<Options> = {
  readonly [Name in keyof Options]-?: OptionKind<Exclude<Options[Name], undefined>>;
};

/** Options that are checked together. `of` names them in errors. */
export interface OptionTable<out Options> {
  readonly of: string;
  readonly names: readonly string[];
  /** By name. */
  readonly kinds: ReadonlyMap<string, OptionKind>;
  /** Whether the object may have other properties, because it is more than options. */
  readonly isOpen: boolean;
  /** The result for omitted options. Null if an option is required. */
  readonly none: Options | null;
}

/**
 * Creates a table of options.
 *
 * ```ts
 * const RELEASE = optionTable<ReleaseOptions>("release", { by: kinds.name, after: kinds.duration });
 * ```
 */
export function optionTable<Options extends object>(of: string, kinds: OptionKinds<Options>): OptionTable<Options> {
  const all = new Map(Object.entries<OptionKind>(kinds));
  const hasRequired = [...all.values()].some(({ isRequired }) => isRequired);
  const none = hasRequired ? null : (Object.freeze({}) as Options);
  return { of, names: [...all.keys()], kinds: all, isOpen: false, none };
}

/** As `optionTable`, for an object that may have other properties. They are not in the copy. */
export function openTable<Options extends object>(of: string, kinds: OptionKinds<Options>): OptionTable<Options> {
  return { ...optionTable(of, kinds), isOpen: true };
}

/** Checks the options of a call, and returns a copy. */
export function readOptions<Options extends object>(table: OptionTable<Options>, given: unknown): Options {
  if (given === undefined && table.none !== null) return table.none;
  const what = `options of ${table.of}`;
  return guardArguments(what, () => {
    if (!isOptions(given)) throw notAllowed(what, OBJECT, given);
    return readFields(table, given, "");
  });
}

/** Checks an argument of a call, and returns it. `argument` names it in the error. */
export function readArgument<Value>(expected: OptionKind<Value>, value: unknown, argument: string): Value {
  return guardArguments(argument, () => readValue(expected, value, argument));
}

/** The error for a value that is not allowed. */
export function notAllowed(option: string, allowed: string, value: unknown, code: ErrorCode = "OPTION_INVALID") {
  return new PawlError(code, `${option} must be ${allowed}; got ${shortText(value)}`);
}

const OBJECT = "an object";

/** Turns what a getter or a proxy throws into an error of the caller. */
export function guardArguments<Value>(what: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (isPawlError(cause)) throw cause;
    throw new PawlError("OPTION_INVALID", `${what} must be readable; reading threw ${textOf(cause)}`, { cause });
  }
}

/** A proxy may throw even when it is asked for its class. */
function isPawlError(thrown: unknown): boolean {
  try {
    return thrown instanceof PawlError;
  } catch {
    return false;
  }
}

function readValue<Value>(expected: OptionKind<Value>, value: unknown, option: string): Value {
  if (!expected.fits(value)) throw notAllowed(option, expected.allowed, value, expected.code);
  return expected.read(value, option);
}

function readFields<Options>(table: OptionTable<Options>, given: object, prefix: string): Options {
  const { of, names, kinds, isOpen } = table;
  for (const name of isOpen ? [] : Object.keys(given)) {
    if (!kinds.has(name))
      throw new PawlError("OPTION_INVALID", `unknown option ${shortText(name)} of ${of}; use ${names.join(", ")}`);
  }
  const options: Record<string, unknown> = {};
  for (const [name, expected] of kinds) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    const isOmitted = value === undefined && !(expected.keepsUndefined && name in given);
    if (!isOmitted || expected.isRequired) options[name] = readValue(expected, value, `${prefix}${name}`);
  }
  return options as Options;
}

/** A list, a date or a map has no options, and would be taken for an object without any. */
function isOptions(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.prototype.toString.call(value) === "[object Object]";
}

function isObject(value: unknown): value is Readonly<Record<PropertyKey, unknown>> {
  return typeof value === "object" && value !== null;
}

function simple<Value>(
  allowed: string,
  fits: (value: unknown) => boolean,
  read: (value: unknown, option: string) => Value = (value) => value as Value,
  code: ErrorCode = "OPTION_INVALID",
): OptionKind<Value> {
  return { allowed, code, isRequired: false, keepsUndefined: false, fits, read };
}

const always = (): boolean => true;

/** The longest list or map in options. */
const ITEMS_MAX = 100_000;
/** Tags are stored as rows, and are not counted in the size of a payload. */
const TAGS_MAX = 100;

/** Any moment that a `Date` can hold, from 1970 on. */
const TIME_MAX = 8.64e15;

function integer(min: number, max = Number.MAX_SAFE_INTEGER): OptionKind<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const allowed = min === 1 && max === Number.MAX_SAFE_INTEGER ? "a positive integer" : `an integer ${range}`;
  // Adding 0 turns -0 into 0.
  return simple(
    allowed,
    (value) => isNumberIn(value, min, max) && Number.isSafeInteger(value),
    (value) => Number(value) + 0,
  );
}

function isNumberIn(value: unknown, min: number, max: number): boolean {
  return typeof value === "number" && value >= min && value <= max;
}

function list<Item>(item: OptionKind<Item>, lengths: { readonly min?: number; readonly max?: number } = {}) {
  const { min = 0, max = ITEMS_MAX } = lengths;
  const size = min === 0 ? `at most ${max}` : `${min} to ${max}`;
  return simple<readonly Item[]>(`a list of ${size} items`, isListOf(min, max), (value, option) => {
    // By index: a hole in the list is an item that is undefined.
    const given = value as readonly unknown[];
    return Array.from({ length: given.length }, (_, index) => readValue(item, given[index], `${option}[${index}]`));
  });
}

function isListOf(min: number, max: number): (value: unknown) => boolean {
  return (value) => Array.isArray(value) && value.length >= min && value.length <= max;
}

function fieldsOf<Options extends object>(table: OptionTable<Options>): OptionKind<Options> {
  return simple(OBJECT, isOptions, (value, option) => readFields(table, value as object, `${option}.`));
}

function recordTable<Fields extends object>(of: string, kinds: OptionKinds<Fields>): OptionTable<Fields> {
  const entries = Object.entries<OptionKind>(kinds).map(([name, expected]) => [name, required(expected)] as const);
  return optionTable<Fields>(of, Object.fromEntries(entries) as OptionKinds<Fields>);
}

/** By the `kind` of a member, the kinds of its other properties. */
type MemberKinds<Member extends { readonly kind: string }> = {
  readonly [Name in Member["kind"]]: OptionKinds<Omit<Extract<Member, { readonly kind: Name }>, "kind">>;
};

function required<Value>(expected: OptionKind<Value>): OptionKind<Value> {
  return { ...expected, isRequired: true };
}

/** The first kind that the value fits checks it. */
function either<Kinds extends readonly OptionKind[]>(
  ...kinds: Kinds
): OptionKind<Kinds[number] extends OptionKind<infer Value> ? Value : never> {
  const allowed = kinds.map((each) => each.allowed).join(" or ");
  const kindOf = (value: unknown): OptionKind | undefined => kinds.find((each) => each.fits(value));
  return simple(
    allowed,
    (value) => kindOf(value) !== undefined,
    (value, option) => kindOf(value)?.read(value, option) as never,
  );
}

function literal<const Value extends string | number | boolean | null>(value: Value): OptionKind<Value> {
  return simple(String(value), (given) => given === value);
}

function isIndexable(text: string, bytesMax: number): boolean {
  return text.length <= bytesMax && !/[\p{Cc}\p{Surrogate}]/u.test(text) && bytes.utf8Length(text) <= bytesMax;
}

/** The limits of an engine apply when the values are stored. */
const PLAIN = createCodec(null, {
  bytesMax: Number.MAX_SAFE_INTEGER,
  warnBytes: Number.MAX_SAFE_INTEGER,
  onLarge: () => undefined,
});

const BYTES = simple<Uint8Array>("a Uint8Array", (value) => value instanceof Uint8Array);
const NAME = simple<string>("text", always, checkName);

/**
 * The kinds of values. A kind of type `never` fits each option: a static type that cannot be checked at run time, as that of a
 * callback.
 */
export const kinds = {
  /** A value that is checked elsewhere. An option that is set to undefined stays so. */
  value: { ...simple<never>("a value", always), keepsUndefined: true } satisfies OptionKind<never>,
  /** An object whose values can be stored. The copy is what a replay would see. */
  variables: simple<Readonly<Record<string, unknown>>>(OBJECT, isOptions, (value, option) => {
    return PLAIN.roundTrip(value, option).value as Readonly<Record<string, unknown>>;
  }),
  text: simple<string>("text", (value) => typeof value === "string"),
  /** Text that a store can index: it has no control characters and halves of surrogate pairs, and is at most so long in UTF-8. */
  bytesUpTo: (max: number): OptionKind<string> =>
    simple(
      `text of 1 to ${max} bytes, without control characters and halves of surrogate pairs`,
      (value) => typeof value === "string" && value !== "" && isIndexable(value, max),
    ),
  /** Text without NUL, which neither paths nor databases can hold. */
  storedText: (max: number): OptionKind<string> =>
    simple(
      `text of 1 to ${max} characters without NUL`,
      (value) => typeof value === "string" && value !== "" && value.length <= max && !value.includes("\0"),
    ),
  textUpTo: (max: number): OptionKind<string> =>
    simple(`text of at most ${max} characters`, (value) => typeof value === "string" && value.length <= max),
  name: NAME,
  tags: list(NAME, { max: TAGS_MAX }),
  /** The id that a caller chooses for a run. */
  newRunId: simple<string>("text", always, checkRunId),
  /** The id of an addressed run. */
  runId: simple<string>("text", always, checkTarget),
  duration: simple<Duration>("a duration", always, parseDuration),
  /** A duration above 0. */
  period: simple<Duration>("a duration", always, (value, option) => {
    const ms = parseDuration(value, option);
    if (ms > 0) return ms;
    throw notAllowed(option, "longer than 0", value);
  }),
  /** Epoch ms. */
  time: integer(0, TIME_MAX),
  flag: simple<boolean>("true or false", (value) => typeof value === "boolean"),
  callback: simple<never>("a function", (value) => typeof value === "function"),
  schema: simple<never>("a Standard Schema (zod, valibot, arktype …)", (value) => {
    const isThere = isObject(value) || typeof value === "function";
    const standard: unknown = isThere ? (value as Readonly<Record<string, unknown>>)["~standard"] : null;
    return isObject(standard) && typeof standard.validate === "function";
  }),
  /** A getter, because its type is declared as written. The inferred one has an argument that TypeScript before 5.7 rejects. */
  get bytes(): OptionKind<Uint8Array> {
    return BYTES;
  },
  /** A valid `Date`. */
  date: simple<Date>("a valid Date", (value) => value instanceof Date && !Number.isNaN(value.getTime())),
  error: simple<never>("an Error", (value) => value instanceof Error),
  signal: simple<never>("an AbortSignal", (value) => {
    if (!isObject(value) || typeof value.aborted !== "boolean") return false;
    return typeof value.addEventListener === "function" && typeof value.removeEventListener === "function";
  }),
  integer,
  number: (min: number, max: number): OptionKind<number> =>
    simple(`a number from ${min} to ${max}`, (value) => isNumberIn(value, min, max)),
  oneOf: <const Words extends readonly string[]>(...words: Words): OptionKind<Words[number]> =>
    simple(`one of ${words.join(", ")}`, (value) => words.includes(value as string)),
  /** An object with these methods. It is used as it is. */
  withMethods: (what: string, ...methods: readonly string[]): OptionKind<never> =>
    simple(what, (value) => isObject(value) && methods.every((method) => typeof value[method] === "function")),
  list,
  /** An object with any names. */
  map: <Item>(item: OptionKind<Item>): OptionKind<Readonly<Record<string, Item>>> =>
    simple(`${OBJECT} of at most ${ITEMS_MAX} entries`, isOptions, (value, option) => {
      const names = Object.keys(value as object);
      if (names.length > ITEMS_MAX) throw notAllowed(option, `${OBJECT} of at most ${ITEMS_MAX} entries`, value);
      const entries = names.map((name) => {
        const given = (value as Readonly<Record<string, unknown>>)[name];
        return [name, readValue(item, given, `${option}.${shortText(name)}`)] as const;
      });
      return Object.fromEntries(entries);
    }),
  /** An object with exactly these properties. One that may be undefined has a kind `optional`. */
  record: <Fields extends object>(of: string, kinds: OptionKinds<Fields>): OptionKind<Fields> =>
    fieldsOf(recordTable(of, kinds)),
  /** One of several records, which differ in `kind`. */
  union: <Member extends { readonly kind: string }>(members: MemberKinds<Member>): OptionKind<Member> => {
    const tables = new Map(
      Object.entries<OptionKinds<object>>(members).map(([name, kinds]) => [
        name,
        recordTable(name, { ...kinds, kind: literal(name) }),
      ]),
    );
    const allowed = `one of ${[...tables.keys()].join(", ")}`;
    return simple(OBJECT, isOptions, (value, option) => {
      const name: unknown = (value as { readonly kind?: unknown }).kind;
      const table = typeof name === "string" ? tables.get(name) : undefined;
      if (table === undefined) throw notAllowed(`${option}.kind`, allowed, name);
      return readFields(table as OptionTable<object> as OptionTable<Member>, value as object, `${option}.`);
    });
  },
  options: fieldsOf,
  either,
  literal,
  nullable: <Value>(expected: OptionKind<Value>): OptionKind<Value | null> => ({
    ...expected,
    allowed: `${expected.allowed} or null`,
    fits: (value) => value === null || expected.fits(value),
    read: (value, option) => (value === null ? null : expected.read(value, option)),
  }),
  optional: <Value>(expected: OptionKind<Value>): OptionKind<Value | undefined> => ({
    ...expected,
    fits: (value) => value === undefined || expected.fits(value),
    read: (value, option) => (value === undefined ? undefined : expected.read(value, option)),
  }),
  required,
} as const;

const PAGE_MAX = 1_000;

/** The kinds of the options of every list, for each table that has them. */
export const PAGE_KINDS = { limit: integer(1, PAGE_MAX), cursor: kinds.text } as const;
