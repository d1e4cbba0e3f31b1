/** Reads of things that may be proxies or have getters that throw: what can't be read is as good as absent. */

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

/** Any value as a short text for people. A string is itself, whole. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "function") return "a function";
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
  return attempt(() => objectText(value), "an object that can't be read");
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
