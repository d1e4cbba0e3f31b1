import { bytes as bytesOf } from "./bytes.ts";
import { objectKind } from "./payload-values.ts";

/** How deep containers may lie in each other. A cycle is refused by this bound too, without a list of what was seen. */
export const DEPTH_MAX = 500;
export const VALUES_MAX = 10_000_000;

/** The one key of an object that stands for a value JSON does not have. */
export const TAG = "~";

/** The name of a tag. Written to stores: a name is never given another meaning. */
export type TagName = "undefined" | "number" | "bigint" | "date" | "map" | "set" | "bytes" | "error" | "object";

/** The value, or a part of it, would not come back the same; `payloadRefusal` says which and why. */
export class NotData extends Error {}

/** It holds more than `VALUES_MAX` values, counting one that is shared as often as it is reached. */
export class TooManyValues extends Error {}

/**
 * Makes a tree of a value: what JSON.stringify is to write for it. The tree shares nothing with the value and each part is read
 * once, so what comes of it is one state of the value, whatever a getter or a proxy says the next time.
 */
export class TreeWalk {
  readonly #ofError: (error: object) => unknown;
  #valuesLeft = VALUES_MAX;
  /** Whether a part of it is tagged: else the tree is a copy of the value. */
  hasTags = false;

  /** `ofError` gives what is kept of an error, as data. */
  constructor(ofError: (error: object) => unknown) {
    this.#ofError = ofError;
  }

  /** `depth` is how deep the value lies already. Throws a NotData, a TooManyValues, or what reading the value throws. */
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
    // Most are records: they need no look at what else they could be.
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
      case "error":
        // What is kept has bounds of its own.
        return this.#tag("error", this.treeOf(this.#ofError(value)));
      case null:
        throw new NotData();
    }
  }

  /** A record that has the tag's key itself is tagged, so that nobody takes it for a tag. */
  #ofRecord(record: object, depth: number): unknown {
    // A spread makes own properties of all of them, `__proto__` too; assigning to an own property calls no setter.
    const tree = { ...record } as Record<string, unknown>;
    const keys = Object.keys(tree);
    this.#count(keys.length);
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string;
      const part = tree[key];
      const partTree = this.treeOf(part, depth + 1);
      if (partTree !== part) tree[key] = partTree;
    }
    // What is not enumerable, or has a symbol for a name, would be lost.
    if (Object.getOwnPropertyNames(record).length !== keys.length) throw new NotData();
    if (Object.getOwnPropertySymbols(record).length > 0) throw new NotData();
    return keys.includes(TAG) ? this.#tag("object", tree) : tree;
  }

  /** A hole would come back as a value, and a named property (the `index` of a match) would not come back at all. */
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

/** Whether a payload can hold the value. Never throws: what can't be read can't be held. */
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

/** Whether JSON has this number: it has no NaN, no Infinity and no -0. */
function isJsonNumber(value: number): boolean {
  return value === 0 ? 1 / value > 0 : value - value === 0;
}
