import { asBuffer, BUFFER_PROTOTYPE } from "./bytes.ts";

/** Formats one step of a path into a value as in code: `.name`, `[3]`, `["a b"]`. */
export function pathStep(key: PropertyKey): string {
  if (typeof key === "number") return `[${key}]`;
  const name = String(key);
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** The kinds of objects that a payload can contain. An object without a prototype is a `record`. */
export type ObjectKind = "record" | "list" | "date" | "map" | "set" | "bytes" | "buffer" | "error";

const KINDS: ReadonlyMap<unknown, ObjectKind> = new Map<unknown, ObjectKind>([
  [null, "record"],
  [Object.prototype, "record"],
  [Array.prototype, "list"],
  [Date.prototype, "date"],
  [Map.prototype, "map"],
  [Set.prototype, "set"],
  [Uint8Array.prototype, "bytes"],
  ...(BUFFER_PROTOTYPE === undefined ? [] : ([[BUFFER_PROTOTYPE, "buffer"]] as const)),
]);

const KINDS_BY_NAME: ReadonlyMap<string, ObjectKind> = new Map<string, ObjectKind>([
  ["Object", "record"],
  ["Array", "list"],
  ["Date", "date"],
  ["Map", "map"],
  ["Set", "set"],
  ["Uint8Array", "bytes"],
]);

/**
 * Returns the kind of an object. Null if a payload cannot contain it. A subclass has no kind, because its class would be lost. May throw
 * the error of a proxy.
 */
export function objectKind(value: object): ObjectKind | null {
  const prototype: unknown = Object.getPrototypeOf(value);
  const kind = KINDS.get(prototype) ?? foreignKind(prototype);
  if (kind === undefined) return isError(value) ? "error" : null;
  return isGenuine(value, kind) ? kind : null;
}

/** Errors of another realm, such as a sandbox, are not `instanceof Error`. */
function isError(value: object): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

/** The built-in classes of another realm are different objects, but their constructors are native too. */
function foreignKind(prototype: unknown): ObjectKind | undefined {
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  if (typeof maker !== "function" || maker.prototype !== prototype) return undefined;
  const kind = KINDS_BY_NAME.get(maker.name);
  if (kind === undefined) return undefined;
  const source = Function.prototype.toString.call(maker);
  return source === `function ${maker.name}() { [native code] }` ? kind : undefined;
}

/** Distinguishes a real Map from an object that only has its prototype. */
function isGenuine(value: object, kind: ObjectKind): boolean {
  switch (kind) {
    case "record":
    case "error":
      return true;
    case "list":
      return Array.isArray(value);
    case "bytes":
    case "buffer":
      return ArrayBuffer.isView(value);
    case "date":
      return answers(() => Date.prototype.getTime.call(value));
    case "map":
      return answers(() => Map.prototype.has.call(value, null));
    case "set":
      return answers(() => Set.prototype.has.call(value, null));
  }
}

function answers(call: () => unknown): boolean {
  try {
    call();
    return true;
  } catch {
    return false;
  }
}

// The functions below also read proxies and objects with throwing getters. An unreadable property counts as absent.

const TEXT_CHARACTERS_MAX = 200;

export function read(value: unknown, key: PropertyKey): unknown {
  return attempt(() => Reflect.get(value as object, key), undefined);
}

export function ownKeys(value: object): readonly PropertyKey[] {
  return attempt(() => Reflect.ownKeys(value), []);
}

export function ownProperty(value: object, key: PropertyKey): PropertyDescriptor | undefined {
  return attempt(() => Reflect.getOwnPropertyDescriptor(value, key), undefined);
}

/** Formats any value as a short text for messages. A string is returned whole. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "function") return "a function";
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
  return attempt(() => objectText(value), "an unreadable object");
}

const SHORT_CHARACTERS_MAX = 80;

/** Any value as an error shows it: a text in quotes, and never long. */
export function shortText(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value.slice(0, SHORT_CHARACTERS_MAX + 1)) : textOf(value);
  return text.length > SHORT_CHARACTERS_MAX ? `${text.slice(0, SHORT_CHARACTERS_MAX)}…` : text;
}

function objectText(value: object): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  const kind = Object.prototype.toString.call(value);
  if (kind !== "[object Object]" && kind !== "[object Array]") return kind;
  const text: unknown = attempt(() => JSON.stringify(value), undefined);
  if (typeof text !== "string") return kind;
  return text.length > TEXT_CHARACTERS_MAX ? `${text.slice(0, TEXT_CHARACTERS_MAX)}…` : text;
}

function attempt<Result>(action: () => Result, otherwise: Result): Result {
  try {
    return action();
  } catch {
    return otherwise;
  }
}

/**
 * Copies data. The copy equals the result of encoding and decoding: records are plain objects, bytes have separate memory.
 * `copyError` copies errors.
 */
export function copyData(value: unknown, copyError: (error: object) => Error): unknown {
  if (typeof value !== "object" || value === null) return value;
  const copy = (part: unknown): unknown => copyData(part, copyError);
  switch (objectKind(value)) {
    case "record": {
      // A spread makes every key an own property, even `__proto__`. Assigning to an own property calls no setter.
      const record = { ...value } as Record<string, unknown>;
      for (const key of Object.keys(record)) record[key] = copy(record[key]);
      return record;
    }
    case "list":
      return Array.from(value as readonly unknown[], copy);
    case "date":
      return new Date(Date.prototype.getTime.call(value));
    case "map":
      return new Map(Array.from(value as ReadonlyMap<unknown, unknown>, ([key, item]) => [copy(key), copy(item)]));
    case "set":
      return new Set(Array.from(value as ReadonlySet<unknown>, copy));
    case "bytes":
      return new Uint8Array(value as Uint8Array);
    case "buffer":
      return asBuffer(new Uint8Array(value as Uint8Array));
    case "error":
      return copyError(value);
    case null:
      throw new TypeError("cannot copy a value that is not data");
  }
}
