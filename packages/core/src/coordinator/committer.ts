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
  /** The batch was sent more than once, so an answer "again" may be about its own first time. */
  readonly resent: boolean;
  /** Places in the batch of ops whose callers were not kept waiting any longer; the commit has no answers for them. */
  readonly abandoned: ReadonlySet<number>;
}

/**
 * Sends batches to the store until it answers.
 *
 * 1. The same batch is sent again after a failure, whether it is known to have left no trace or not: transitions are
 *    idempotent.
 * 2. When the retry policy is used up, callers from outside are let go and `onDown` is called; the rest is kept and sent on
 *    until the store is back, and `onUp` is called. Where nothing is left to send, `reached` tells that it is.
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

  /** `mayLetGo` says which places of the batch have a caller who can be told that the store is not there. */
  async commit(batch: readonly Transition[], mayLetGo: (index: number) => boolean): Promise<Committed> {
    this.#sending += 1;
    try {
      return await this.#send(batch, mayLetGo);
    } finally {
      this.#sending -= 1;
    }
  }

  /** The store was reached by other calls: it is back, unless a batch is on its way that knows better. */
  markUp(): void {
    if (this.#sending === 0) this.#up();
  }

  async #send(batch: readonly Transition[], mayLetGo: (index: number) => boolean): Promise<Committed> {
    let left = batch;
    let given: ReadonlySet<number> = new Set();
    for (let attempt = 1; ; attempt += 1) {
      try {
        const commit = left.length === 0 ? { answers: [], wakes: [] } : await this.#store.commit(left);
        this.#up();
        return { commit, resent: attempt > 1, abandoned: given };
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (attempt === this.#policy.maxAttempts) {
          given = new Set([...batch.keys()].filter(mayLetGo));
          left = batch.filter((_, index) => !given.has(index));
          this.#markDown(error);
          if (left.length === 0) return { commit: { answers: [], wakes: [] }, resent: true, abandoned: given };
        }
        await this.#pause(attempt);
      }
    }
  }

  /** As `reaching`, for a caller from outside: the error has a code of the catalog. */
  async retryingForCaller<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await this.retrying(call);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new PawlError("STORE_UNAVAILABLE", `the store could not be read: ${error.message}`, { cause: error });
    }
  }

  /** A call that may be made twice, tried again by the same policy; after it, the last error is thrown. */
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
    this.#log("error", "the store does not answer; claiming stops until it does", {
      code: error.code,
      error: error.message,
    });
    this.#onDown(error);
  }

  #up(): void {
    if (!this.#down) return;
    this.#down = false;
    this.#log("info", "the store answers again", {});
    this.#onUp();
  }
}
