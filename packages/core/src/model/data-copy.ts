import { objectKind } from "./object-kind.ts";

/**
 * A copy of data that a payload can hold, equal to what encoding and decoding it gives: records are ordinary objects,
 * bytes are a Uint8Array of their own. `copyError` says what becomes of errors.
 */
export function copyData(value: unknown, copyError: (error: object) => Error): unknown {
  if (typeof value !== "object" || value === null) return value;
  const copy = (part: unknown): unknown => copyData(part, copyError);
  switch (objectKind(value)) {
    case "record": {
      // A spread makes own properties of all of them, `__proto__` too; assigning to an own property calls no setter.
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
    case "error":
      return copyError(value);
    case null:
      throw new TypeError("a value that is not data was to be copied");
  }
}
