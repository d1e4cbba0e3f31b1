import type { StoreWorld } from "../../store/store.ts";

/** A world whose clock moves only by `advance`. */
export class ManualWorld implements StoreWorld {
  #now: number;
  readonly #callbacks = new Set<() => void>();

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  every(_ms: number, callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => {
      this.#callbacks.delete(callback);
    };
  }

  /** Calls every callback that was registered with `every`. */
  tick(): void {
    for (const callback of [...this.#callbacks]) callback();
  }
}
