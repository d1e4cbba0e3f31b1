import type { MemoryTx } from "../../model/tx.ts";
import type { TxDesk } from "../tx-desk.ts";

/** What a transaction has changed: nothing of it is in `data` before `keep`. */
export class MemoryChanges {
  /** What user code is given. */
  readonly tx: MemoryTx;
  readonly #data: Map<string, unknown>;
  readonly #changed = new Map<string, { readonly value: unknown } | null>();

  /** `check` throws where a value can't be kept. */
  constructor(data: Map<string, unknown>, desk: TxDesk, check: (key: string, value: unknown) => void) {
    this.#data = data;
    const checked =
      <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
      (...args: Args): Result => {
        desk.check();
        return call(...args);
      };
    this.tx = {
      get: checked((key) => structuredClone(this.#get(key))),
      set: checked((key, value) => {
        check(key, value);
        this.#changed.set(key, { value: structuredClone(value) });
      }),
      delete: checked((key) => void this.#changed.set(key, null)),
      keys: checked(() => this.#keys()),
    };
  }

  /** Gives the keys that were changed. */
  keep(): readonly string[] {
    for (const [key, changed] of this.#changed) {
      if (changed === null) this.#data.delete(key);
      else this.#data.set(key, changed.value);
    }
    return [...this.#changed.keys()];
  }

  #get(key: string): unknown {
    const changed = this.#changed.get(key);
    return changed === undefined ? this.#data.get(key) : changed?.value;
  }

  #keys(): readonly string[] {
    const keys = new Set(this.#data.keys());
    for (const [key, changed] of this.#changed) {
      if (changed === null) keys.delete(key);
      else keys.add(key);
    }
    return [...keys];
  }
}
