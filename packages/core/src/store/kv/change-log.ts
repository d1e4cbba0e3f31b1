import type { KvWrite } from "./kv-driver.ts";
import { encodeTuple, type TupleItem } from "./tuple.ts";

const TEXT = new TextEncoder();

/** What has changed since the last write: each key once, with the value that it has when it is written. */
export class ChangeLog {
  readonly #changed = new Map<string, { readonly key: Uint8Array; readonly value: (() => unknown) | null }>();

  put(key: readonly TupleItem[], value: () => unknown): void {
    this.#note(key, value);
  }

  remove(key: readonly TupleItem[]): void {
    this.#note(key, null);
  }

  /** The changes, as they are to be written; there are none after it. */
  take(): readonly KvWrite[] {
    const writes = [...this.#changed.values()].map(({ key, value }) => ({
      key,
      value: value === null ? null : TEXT.encode(JSON.stringify(value())),
    }));
    this.#changed.clear();
    return writes;
  }

  #note(tuple: readonly TupleItem[], value: (() => unknown) | null): void {
    const key = encodeTuple(tuple);
    this.#changed.set(String.fromCharCode(...key), { key, value });
  }
}
