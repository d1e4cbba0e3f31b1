import type { KvWrite } from "./kv-driver.ts";
import { encodeTuple, type TupleItem } from "./tuple.ts";

const TEXT = new TextEncoder();

/** The keys that have changed since the last write. A key is written once, with its value at the time of the write. */
export class ChangeLog {
  readonly #changed = new Map<string, { readonly key: Uint8Array; readonly value: (() => unknown) | null }>();

  put(key: readonly TupleItem[], value: () => unknown): void {
    this.#add(key, value);
  }

  remove(key: readonly TupleItem[]): void {
    this.#add(key, null);
  }

  /** Returns and clears the changes. */
  take(): readonly KvWrite[] {
    const writes = [...this.#changed.values()].map(({ key, value }) => ({
      key,
      value: value === null ? null : TEXT.encode(JSON.stringify(value())),
    }));
    this.#changed.clear();
    return writes;
  }

  #add(tuple: readonly TupleItem[], value: (() => unknown) | null): void {
    const key = encodeTuple(tuple);
    this.#changed.set(String.fromCharCode(...key), { key, value });
  }
}
