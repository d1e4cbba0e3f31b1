import { isJsonNumber, TAG } from "./payload-form.ts";

/**
 * A copy of a value of the form `plain`, equal to what its JSON text gives. A value that reads otherwise than when its form was
 * asked for (a proxy can) throws a TypeError: its copy and its text would not be the same.
 */
export function plainCopy(value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!isJsonNumber(value)) throw changed();
      return value;
    case "object":
      if (value === null) return null;
      return Array.isArray(value) ? listCopy(value) : recordCopy(value);
    default:
      throw changed();
  }
}

function listCopy(list: readonly unknown[]): unknown[] {
  const copy: unknown[] = [];
  for (let index = 0; index < list.length; index++) copy.push(plainCopy(list[index]));
  return copy;
}

function recordCopy(record: object): object {
  // A spread makes own properties of all of them, `__proto__` too; assigning to an own property calls no setter.
  const copy = { ...record } as Record<string, unknown>;
  for (const key of Object.keys(copy)) {
    if (key === TAG) throw changed();
    const part = copy[key];
    const partCopy = plainCopy(part);
    if (partCopy !== part) copy[key] = partCopy;
  }
  return copy;
}

function changed(): TypeError {
  return new TypeError("it changed while it was read");
}
