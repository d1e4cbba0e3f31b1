import { PawlError } from "../model/errors.ts";
import { type RetryPolicy, retryDelayMs } from "../model/retry.ts";
import type { Transition } from "../model/transition.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { Random } from "../runtime/random.ts";
import type { TimeoutQueue } from "../runtime/timeout-queue.ts";
import type { Commit, Store } from "../store/store.ts";
import { StoreError, stopsEngine } from "../store/store-error.ts";

export interface Committed {
  readonly commit: Commit;
  /** The batch was sent more than once, so an answer "again" may refer to an earlier send of this batch. */
  readonly resent: boolean;
  /** Indexes in the batch of transitions that the last send omitted. The commit has no answers for them. */
  readonly abandoned: ReadonlySet<number>;
}

/** The transitions of a batch that are not sent again once their callers have an answer. */
export interface BatchCallers {
  /** Whether the caller of the transition with this index has an answer. */
  isAnswered(index: number): boolean;
  /** Fails the callers of all transitions with STORE_UNAVAILABLE. */
  fail(cause: Error): void;
}

export const NO_CALLERS: BatchCallers = { isAnswered: () => false, fail: () => undefined };

const NONE_ABANDONED: ReadonlySet<number> = new Set();
const EMPTY_COMMIT: Commit = { answers: [], wakes: [] };

/**
 * Sends batches to the store, with retries.
 *
 * 1. After a failure the same batch is sent again, even if it may have been applied: transitions are idempotent. Transitions of callers
 *    that got STORE_UNAVAILABLE meanwhile are omitted. The others are sent until the store is back.
 * 2. The store is down after the last attempt of the retry policy, or when a commit has no answer for the storage timeout. `onDown` is
 *    then called, and callers are failed. It is up again when a commit succeeds, and only then: a read proves nothing. `onUp` is then called.
 * 3. After `end`, no call reaches the store: each fails with the given error.
 * 4. If a call reports that the store must not be used any more, `onUnusable` is called before the call's answer is delivered.
 */
export class Committer {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #timeouts: TimeoutQueue;
  readonly #random: Random;
  readonly #policy: RetryPolicy;
  readonly #log: Log;
  readonly #onDown: (error: Error) => void;
  readonly #onUp: () => void;
  readonly #onUnusable: (error: PawlError) => void;
  #down = false;
  #ended: PawlError | null = null;

  constructor(parts: {
    readonly store: Store;
    readonly clock: Clock;
    /** With the storage timeout. */
    readonly timeouts: TimeoutQueue;
    readonly random: Random;
    readonly policy: RetryPolicy;
    readonly log: Log;
    readonly onDown: (error: Error) => void;
    readonly onUp: () => void;
    /** A call outside of commits reports that the store must not be used any more. */
    readonly onUnusable: (error: PawlError) => void;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#timeouts = parts.timeouts;
    this.#random = parts.random;
    this.#policy = parts.policy;
    this.#log = parts.log;
    this.#onDown = parts.onDown;
    this.#onUp = parts.onUp;
    this.#onUnusable = parts.onUnusable;
  }

  get down(): boolean {
    return this.#down;
  }

  /** The store must not be used any more. */
  end(error: PawlError): void {
    this.#ended ??= error;
  }

  async commit(batch: readonly Transition[], callers: BatchCallers): Promise<Committed> {
    for (let attempt = 1; ; attempt += 1) {
      if (this.#ended !== null) throw this.#ended;
      const abandoned = attempt === 1 ? NONE_ABANDONED : answered(batch, callers);
      const left = abandoned.size === 0 ? batch : batch.filter((_, index) => !abandoned.has(index));
      const resent = attempt > 1;
      if (left.length === 0) return { commit: EMPTY_COMMIT, resent, abandoned };
      try {
        return { commit: await this.#commitOnce(left), resent, abandoned };
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        if (attempt >= this.#policy.maxAttempts) {
          this.#markDown(error);
          callers.fail(error);
          if (answered(batch, callers).size === batch.length) continue;
        }
        await this.#pause(attempt);
      }
    }
  }

  async #commitOnce(batch: readonly Transition[]): Promise<Commit> {
    const timeout = {
      expiresAt: this.#timeouts.nextExpiry(),
      expire: () => this.#markDown(noAnswer(this.#timeouts.timeoutMs)),
    };
    this.#timeouts.add(timeout);
    try {
      const commit = await this.#store.commit(batch);
      this.#up();
      return commit;
    } finally {
      this.#timeouts.delete(timeout);
    }
  }

  /** Calls the store for a caller of the engine: rejects with STORE_UNAVAILABLE, after the storage timeout at the latest. */
  forCaller<T>(call: () => Promise<T>): Promise<T> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      const { timeoutMs } = this.#timeouts;
      const timeout = {
        expiresAt: this.#timeouts.nextExpiry(),
        expire: () => reject(unanswered(noAnswer(timeoutMs))),
      };
      this.#timeouts.add(timeout);
      this.checked(call)
        .finally(() => this.#timeouts.delete(timeout))
        .then(resolve, (error) => reject(error instanceof StoreError ? unanswered(error) : error));
    });
  }

  /** Retries an idempotent call by the policy, and throws the error of the last attempt. */
  async retrying<T>(call: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      if (this.#ended !== null) throw this.#ended;
      try {
        return await this.checked(call);
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

  /** Calls the store once. Every call of the store goes through here, so that the engine stops when the store must not be used any more (Committer.4). */
  async checked<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (this.#ended === null && stopsEngine(error)) this.#onUnusable(error);
      throw error;
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

/** The indexes of transitions whose callers have an answer. */
function answered(batch: readonly Transition[], callers: BatchCallers): ReadonlySet<number> {
  return new Set([...batch.keys()].filter((index) => callers.isAnswered(index)));
}

function noAnswer(ms: number): StoreError {
  return new StoreError("STORE_UNAVAILABLE", "unknown", `the store has not answered for ${ms} ms`);
}

function unanswered(cause: StoreError): PawlError {
  const text = `the call failed: ${cause.message}; check that the store is reachable, then repeat the call`;
  return new PawlError("STORE_UNAVAILABLE", text, { cause });
}
