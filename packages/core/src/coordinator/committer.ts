import { PawlError } from "../model/errors.ts";
import { type RetryPolicy, retryDelayMs } from "../model/retry.ts";
import type { Transition } from "../model/transition.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";
import type { Commit, Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";

export interface Committed {
  readonly commit: Commit;
  /** The batch was sent more than once, so an answer "again" may refer to an earlier send of this batch. */
  readonly resent: boolean;
  /** Indexes in the batch of transitions that were given up. The commit has no answers for them. */
  readonly abandoned: ReadonlySet<number>;
}

/**
 * Sends batches to the store, with retries.
 *
 * 1. After a failure the same batch is sent again, even if it may have been applied: transitions are idempotent.
 * 2. After the last attempt of the retry policy, callers' transitions are abandoned and `onDown` is called. The other transitions are
 *    sent until the store is back; then `onUp` is called. If no transition is left to send, `markUp` reports that the store is back.
 */
export class Committer {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #policy: RetryPolicy;
  readonly #log: Log;
  readonly #onDown: (error: Error) => void;
  readonly #onUp: () => void;
  #down = false;
  #sending = 0;

  constructor(parts: {
    readonly store: Store;
    readonly clock: Clock;
    readonly random: Random;
    readonly policy: RetryPolicy;
    readonly log: Log;
    readonly onDown: (error: Error) => void;
    readonly onUp: () => void;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#policy = parts.policy;
    this.#log = parts.log;
    this.#onDown = parts.onDown;
    this.#onUp = parts.onUp;
  }

  get down(): boolean {
    return this.#down;
  }

  /** `mayAbandon` is true for transitions of callers, who get STORE_UNAVAILABLE when the transition is abandoned. */
  async commit(batch: readonly Transition[], mayAbandon: (index: number) => boolean): Promise<Committed> {
    this.#sending += 1;
    try {
      return await this.#send(batch, mayAbandon);
    } finally {
      this.#sending -= 1;
    }
  }

  /** Another call has reached the store. Ignored while a batch is being sent: the result of the batch counts. */
  markUp(): void {
    if (this.#sending === 0) this.#up();
  }

  async #send(batch: readonly Transition[], mayAbandon: (index: number) => boolean): Promise<Committed> {
    let left = batch;
    let abandoned: ReadonlySet<number> = new Set();
    for (let attempt = 1; ; attempt += 1) {
      try {
        const commit = left.length === 0 ? { answers: [], wakes: [] } : await this.#store.commit(left);
        this.#up();
        return { commit, resent: attempt > 1, abandoned };
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (attempt === this.#policy.maxAttempts) {
          abandoned = new Set([...batch.keys()].filter(mayAbandon));
          left = batch.filter((_, index) => !abandoned.has(index));
          this.#markDown(error);
          if (left.length === 0) return { commit: { answers: [], wakes: [] }, resent: true, abandoned };
        }
        await this.#pause(attempt);
      }
    }
  }

  /** As `retrying`, for a caller of the engine: a StoreError becomes a PawlError. */
  async retryingForCaller<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await this.retrying(call);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new PawlError(
        "STORE_UNAVAILABLE",
        `could not read from the store: ${error.message}; check that it is reachable, then repeat the call`,
        { cause: error },
      );
    }
  }

  /** Retries an idempotent call by the policy, and throws the error of the last attempt. */
  async retrying<T>(call: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const value = await call();
        this.#up();
        return value;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (attempt >= this.#policy.maxAttempts) {
          this.#markDown(error);
          throw error;
        }
        await this.#pause(attempt);
      }
    }
  }

  #pause(attempt: number): Promise<void> {
    const delayMs = retryDelayMs(this.#policy, Math.min(attempt, 1000), this.#random.next());
    return new Promise((resolve) => {
      this.#clock.wakeAt(this.#clock.now() + delayMs, resolve);
    });
  }

  #markDown(error: StoreError): void {
    if (this.#down) return;
    this.#down = true;
    this.#log("error", "store unreachable; claiming paused", {
      code: error.code,
      error: error.message,
    });
    this.#onDown(error);
  }

  #up(): void {
    if (!this.#down) return;
    this.#down = false;
    this.#log("info", "store reachable; claiming resumed", {});
    this.#onUp();
  }
}
