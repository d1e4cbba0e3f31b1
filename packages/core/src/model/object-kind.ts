import { BUFFER_PROTOTYPE } from "./bytes.ts";

/** What a payload can hold of objects. A Buffer is `bytes`, an object without a prototype is a `record`. */
export type ObjectKind = "record" | "list" | "date" | "map" | "set" | "bytes" | "error";

const KINDS: ReadonlyMap<unknown, ObjectKind> = new Map<unknown, ObjectKind>([
  [null, "record"],
  [Object.prototype, "record"],
  [Array.prototype, "list"],
  [Date.prototype, "date"],
  [Map.prototype, "map"],
  [Set.prototype, "set"],
  [Uint8Array.prototype, "bytes"],
  ...(BUFFER_PROTOTYPE === undefined ? [] : ([[BUFFER_PROTOTYPE, "bytes"]] as const)),
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
 * The kind of an object, or null when it is of no kind that a payload holds. A subclass is none: its class would be lost.
 * May throw what a proxy throws.
 */
export function objectKind(value: object): ObjectKind | null {
  const prototype: unknown = Object.getPrototypeOf(value);
  const kind = KINDS.get(prototype) ?? foreignKind(prototype);
  if (kind === undefined) return isError(value) ? "error" : null;
  return isGenuine(value, kind) ? kind : null;
}

/** Errors of other realms, of a sandbox say, are no `instanceof Error`. */
function isError(value: object): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

/** The built-in classes of another realm (a sandbox) are other objects, but their constructors are native as well. */
function foreignKind(prototype: unknown): ObjectKind | undefined {
  const maker: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  if (typeof maker !== "function" || maker.prototype !== prototype) return undefined;
  const kind = KINDS_BY_NAME.get(maker.name);
  if (kind === undefined) return undefined;
  const source = Function.prototype.toString.call(maker);
  return source === `function ${maker.name}() { [native code] }` ? kind : undefined;
}

/** Tells a real Map from an object that only has its prototype. */
function isGenuine(value: object, kind: ObjectKind): boolean {
  switch (kind) {
    case "record":
    case "error":
      return true;
    case "list":
      return Array.isArray(value);
    case "bytes":
      return ArrayBuffer.isView(value);
    case "date":
      return answers(() => Date.prototype.getTime.call(value));
    case "map":
      return answers(() => Map.prototype.has.call(value, null));
    case "set":
      return answers(() => Set.prototype.has.call(value, null));
  }
}

function answers(ask: () => unknown): boolean {
  try {
    ask();
    return true;
  } catch {
    return false;
  }
}
