import { objectKind } from "./object-kind.ts";

/**
 * Which form a value takes in a payload. This is asked once per step, so it allocates nothing that lives on and only
 * looks: `payloadRefusal` explains a refusal, `encodeText` writes what is not refused.
 */

/**
 * `plain`: JSON.stringify keeps it. `tagged`: parts of it need a tag. `refused`: it would not come back the same.
 * `tooMany`: it holds more than `VALUES_MAX` values, counting one that is shared as often as it is reached.
 */
export type PayloadForm = "plain" | "tagged" | "refused" | "tooMany";

/** How deep containers may lie in each other. A cycle is refused by this bound too, without a list of what was seen. */
export const DEPTH_MAX = 500;
export const VALUES_MAX = 10_000_000;

/** The one key of an object that stands for a value JSON does not have. */
export const TAG = "~";

/** How many more values the walk under way may meet. One walk is synchronous, so there is never a second one beside it. */
let valuesLeft = 0;

/** `depth` is how deep the value lies already. Never throws: what can't be read is refused. */
export function payloadForm(value: unknown, depth = 0): PayloadForm {
  valuesLeft = VALUES_MAX;
  try {
    return formOf(value, depth);
  } catch {
    return "refused";
  }
}

/** Whether JSON has this number: it has no NaN, no Infinity and no -0. */
export function isJsonNumber(value: number): boolean {
  return value === 0 ? 1 / value > 0 : value - value === 0;
}

function formOf(value: unknown, depth: number): PayloadForm {
  switch (typeof value) {
    case "string":
    case "boolean":
      return "plain";
    case "number":
      return isJsonNumber(value) ? "plain" : "tagged";
    case "object":
      return value === null ? "plain" : objectForm(value, depth);
    case "undefined":
    case "bigint":
      return "tagged";
    case "function":
    case "symbol":
      return "refused";
  }
}

function objectForm(value: object, depth: number): PayloadForm {
  if (depth >= DEPTH_MAX) return "refused";
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype) return recordForm(value, depth);
  if (prototype === Array.prototype && Array.isArray(value)) return listForm(value, depth);
  switch (objectKind(value)) {
    case "record":
      return recordForm(value, depth);
    case "list":
      return listForm(value as readonly unknown[], depth);
    case "map":
      return entriesForm(value as ReadonlyMap<unknown, unknown>, depth);
    case "set":
      return membersForm(value as ReadonlySet<unknown>, depth);
    case "date":
      return hasOwnProperties(value) ? "refused" : "tagged";
    case "bytes":
    case "error":
      return "tagged";
    case null:
      return "refused";
  }
}

/** Reads descriptors rather than values, so that no getter of the user runs, here or in JSON.stringify. */
function recordForm(record: object, depth: number): PayloadForm {
  const names = Object.getOwnPropertyNames(record);
  valuesLeft -= names.length;
  if (valuesLeft < 0) return "tooMany";
  let form: PayloadForm = "plain";
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string;
    const property = Object.getOwnPropertyDescriptor(record, name);
    if (property === undefined || !property.enumerable || isAccessor(property)) return "refused";
    const inner = formOf(property.value, depth + 1);
    if (inner !== "plain") {
      if (inner !== "tagged") return inner;
      form = inner;
    }
    if (name === TAG) form = "tagged";
  }
  return Object.getOwnPropertySymbols(record).length === 0 ? form : "refused";
}

/** A hole would come back as a value, and a named property (the `index` of a match) would not come back at all. */
function listForm(list: readonly unknown[], depth: number): PayloadForm {
  valuesLeft -= list.length;
  if (valuesLeft < 0) return "tooMany";
  let form: PayloadForm = "plain";
  for (let index = 0; index < list.length; index++) {
    const item = list[index];
    if (item === undefined && !(index in list)) return "refused";
    const inner = formOf(item, depth + 1);
    if (inner !== "plain") {
      if (inner !== "tagged") return inner;
      form = inner;
    }
  }
  return Object.keys(list).length === list.length && Object.getOwnPropertySymbols(list).length === 0 ? form : "refused";
}

function entriesForm(map: ReadonlyMap<unknown, unknown>, depth: number): PayloadForm {
  if (hasOwnProperties(map)) return "refused";
  valuesLeft -= map.size * 2;
  if (valuesLeft < 0) return "tooMany";
  for (const [key, value] of map) {
    const keyForm = formOf(key, depth + 1);
    if (keyForm === "refused" || keyForm === "tooMany") return keyForm;
    const form = formOf(value, depth + 1);
    if (form === "refused" || form === "tooMany") return form;
  }
  return "tagged";
}

function membersForm(set: ReadonlySet<unknown>, depth: number): PayloadForm {
  if (hasOwnProperties(set)) return "refused";
  valuesLeft -= set.size;
  if (valuesLeft < 0) return "tooMany";
  for (const member of set) {
    const form = formOf(member, depth + 1);
    if (form === "refused" || form === "tooMany") return form;
  }
  return "tagged";
}

export function isAccessor(property: PropertyDescriptor): boolean {
  return property.get !== undefined || property.set !== undefined;
}

export function hasOwnProperties(value: object): boolean {
  return Reflect.ownKeys(value).length > 0;
}
