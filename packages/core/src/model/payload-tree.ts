import { bytes as bytesOf } from "./bytes.ts";
import { objectKind } from "./payload-values.ts";

/** Maximum nesting of containers. It also rejects cycles, without a list of visited objects. */
export const DEPTH_MAX = 500;
export const VALUES_MAX = 10_000_000;

/** The only key of an object that represents a value without a JSON form. */
export const TAG = "~";

/** The names of tags. They are stored, so a name must never change its meaning. */
export type TagName =
  | "undefined"
  | "number"
  | "bigint"
  | "date"
  | "map"
  | "set"
  | "bytes"
  | "buffer"
  | "error"
  | "object";

/** The value, or a part of it, cannot be stored without loss. `payloadRefusal` returns the part and the reason. */
export class NotData extends Error {}

/** The value contains more than `VALUES_MAX` values. A shared value counts each time it is reached. */
export class TooManyValues extends Error {}

/**
 * Converts a value to the tree that JSON.stringify writes. The tree shares nothing with the value, and each part is read once, so the
 * tree is one state of the value even if getters and proxies change their results.
 */
export class TreeWalk {
  readonly #ofError: (error: object) => unknown;
  #valuesLeft = VALUES_MAX;
  /** Whether the tree contains a tag. Without tags the tree is a copy of the value. */
  hasTags = false;

  /** `ofError` converts an error to data. */
  constructor(ofError: (error: object) => unknown) {
    this.#ofError = ofError;
  }

  /** `depth` is the number of containers around the value. Throws NotData, TooManyValues, or the error of a getter or proxy. */
  treeOf(value: unknown, depth = 0): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return isJsonNumber(value) ? value : this.#tag("number", Object.is(value, -0) ? "-0" : String(value));
      case "object":
        return value === null ? null : this.#ofObject(value, depth);
      case "undefined":
        return this.#tag("undefined", null);
      case "bigint":
        return this.#tag("bigint", value.toString());
      case "function":
      case "symbol":
        throw new NotData();
    }
  }

  #ofObject(value: object, depth: number): unknown {
    if (depth >= DEPTH_MAX) throw new NotData();
    // Most objects are records, which need no further checks.
    if (Object.getPrototypeOf(value) === Object.prototype) return this.#ofRecord(value, depth);
    switch (objectKind(value)) {
      case "record":
        return this.#ofRecord(value, depth);
      case "list":
        return this.#ofList(value as readonly unknown[], depth);
      case "date":
        if (hasOwnProperties(value)) throw new NotData();
        return this.#ofDate(Date.prototype.getTime.call(value));
      case "map":
        return this.#ofMap(value as ReadonlyMap<unknown, unknown>, depth);
      case "set":
        return this.#ofSet(value as ReadonlySet<unknown>, depth);
      case "bytes":
        return this.#tag("bytes", bytesOf.toBase64(value as Uint8Array));
      case "buffer":
        return this.#tag("buffer", bytesOf.toBase64(value as Uint8Array));
      case "error":
        // The data of an error has separate bounds.
        return this.#tag("error", this.treeOf(this.#ofError(value)));
      case null:
        throw new NotData();
    }
  }

  /** A record that has the tag's key is tagged itself, so `revive` does not mistake it for a tag. */
  #ofRecord(record: object, depth: number): unknown {
    // A spread makes every key an own property, even `__proto__`. Assigning to an own property calls no setter.
    const tree = { ...record } as Record<string, unknown>;
    const keys = Object.keys(tree);
    this.#count(keys.length);
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string;
      const part = tree[key];
      const partTree = this.treeOf(part, depth + 1);
      if (partTree !== part) tree[key] = partTree;
    }
    // Properties that are not enumerable or have a symbol as key would be lost.
    if (Object.getOwnPropertyNames(record).length !== keys.length) throw new NotData();
    if (Object.getOwnPropertySymbols(record).length > 0) throw new NotData();
    return keys.includes(TAG) ? this.#tag("object", tree) : tree;
  }

  /** A hole would become a value, and a named property (such as the `index` of a match) would be lost. */
  #ofList(list: readonly unknown[], depth: number): unknown {
    this.#count(list.length);
    const tree: unknown[] = [];
    for (let index = 0; index < list.length; index++) {
      const item = list[index];
      if (item === undefined && !(index in list)) throw new NotData();
      tree.push(this.treeOf(item, depth + 1));
    }
    if (Object.keys(list).length !== tree.length || Object.getOwnPropertySymbols(list).length > 0) throw new NotData();
    return tree;
  }

  #ofDate(at: number): unknown {
    return this.#tag("date", Number.isNaN(at) ? null : at);
  }

  #ofMap(map: ReadonlyMap<unknown, unknown>, depth: number): unknown {
    if (hasOwnProperties(map)) throw new NotData();
    this.#count(map.size * 2);
    return this.#tag(
      "map",
      Array.from(map, ([key, item]) => [this.treeOf(key, depth + 1), this.treeOf(item, depth + 1)]),
    );
  }

  #ofSet(set: ReadonlySet<unknown>, depth: number): unknown {
    if (hasOwnProperties(set)) throw new NotData();
    this.#count(set.size);
    return this.#tag(
      "set",
      Array.from(set, (member) => this.treeOf(member, depth + 1)),
    );
  }

  #count(values: number): void {
    this.#valuesLeft -= values;
    if (this.#valuesLeft < 0) throw new TooManyValues();
  }

  #tag(name: TagName, content: unknown): unknown {
    this.hasTags = true;
    return { [TAG]: [name, content] };
  }
}

/** Whether a payload can contain the value. Never throws: a value that cannot be read cannot be stored. */
export function isData(value: unknown, depth: number): boolean {
  try {
    new TreeWalk(() => null).treeOf(value, depth);
    return true;
  } catch {
    return false;
  }
}

export function hasOwnProperties(value: object): boolean {
  return Reflect.ownKeys(value).length > 0;
}

/** Whether JSON can represent the number. It has no NaN, Infinity or -0. */
function isJsonNumber(value: number): boolean {
  return value === 0 ? 1 / value > 0 : value - value === 0;
}
