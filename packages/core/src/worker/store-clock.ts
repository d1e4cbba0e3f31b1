import { type Clock, waitAtMost } from "../runtime/clock.ts";
import { type TimerQueue, wakeBy } from "../runtime/timer-queue.ts";
import type { Store } from "../store/store.ts";

/** How long a waiter is held back for the store's reply. */
const REPLY_MS_MAX = 1_000;

/** How long the store's last reported time may be extrapolated with the monotonic clock. */
const EXTRAPOLATION_MS_MAX = 20;
/** The store's clock advances at least this fast relative to ours, even while it is being adjusted. */
const CLOCK_RATE_MIN = 0.9;

interface Waiting {
  readonly at: number;
  readonly call: () => void;
}

/**
 * Knows when a deadline has certainly passed on the store's clock. Such a deadline needs no append to confirm it: a sleep ends at
 * once, and runs that sleep until the same time share one query.
 *
 * 1. Only the store's own time proves that a deadline has passed: `now()` if `exactClock` is set, otherwise the last reported time
 *    plus the monotonic time since. An estimate proves nothing; it may run ahead.
 * 2. Every waiter is called back, even if the query fails. A deadline that is not certain is then confirmed by an append.
 */
export class StoreClock {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #wakeBy: Clock["wakeAt"];
  readonly #ticks: () => number | null;
  #waiting: Waiting[] = [];
  #querying = false;
  /** The latest time that the store reported. */
  #reportedAt = Number.NEGATIVE_INFINITY;
  /** When that report arrived, on the monotonic clock. */
  #receivedAt: number | null = null;
  /** The latest time that has certainly passed. */
  #passedUntil = Number.NEGATIVE_INFINITY;

  /** `ticks` reads the monotonic clock, in ms. Null if the platform has none. */
  constructor(store: Store, clock: TimerQueue, ticks: () => number | null) {
    this.#store = store;
    this.#clock = clock;
    this.#ticks = ticks;
    this.#wakeBy = wakeBy(clock, () => store.now());
  }

  /** Whether a deadline that has passed by `now` has certainly passed on the store's clock. */
  readonly hasPassed = (at: number): boolean =>
    this.#store.exactClock || at <= this.#passedUntil || at <= this.#extrapolate();

  /** Calls back when a deadline has passed; certainly passed, if the store replies in time. */
  readonly wakeAt = (at: number, callback: () => void): (() => void) => {
    if (this.#store.exactClock || this.#store.readClock === undefined) return this.#wakeBy(at, callback);
    let waits = true;
    const cancel = this.#wakeBy(at, () => {
      if (this.hasPassed(at)) {
        callback();
        return;
      }
      this.#waiting.push({
        at,
        call: () => {
          if (waits) callback();
        },
      });
      if (!this.#querying) void this.#query();
    });
    return () => {
      waits = false;
      cancel();
    };
  };

  async #query(): Promise<void> {
    this.#querying = true;
    // Timers of the same deadline fire in one tick: let them all join this query.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const waiters = this.#waiting;
      this.#waiting = [];
      await waitAtMost(this.#clock, REPLY_MS_MAX, this.#readClock());
      // The reply may also serve waiters that joined after the query was sent.
      const passedUntil = this.#extrapolate();
      const more = this.#waiting.filter(({ at }) => at <= passedUntil);
      this.#waiting = this.#waiting.filter(({ at }) => at > passedUntil);
      for (const { call } of [...waiters, ...more]) call();
    }
    this.#querying = false;
  }

  async #readClock(): Promise<void> {
    const reply = Promise.resolve(this.#store.readClock?.());
    // A failed query is ignored here: the deadline is then confirmed by an append, which reports the failure.
    const reported = await reply.then((present) => present ?? this.#reportedAt).catch(() => this.#reportedAt);
    if (reported <= this.#reportedAt) return;
    this.#reportedAt = reported;
    this.#receivedAt = this.#ticks();
  }

  /** The time that the store's clock has certainly reached. */
  #extrapolate(): number {
    const now = this.#ticks();
    const passedMs = now === null || this.#receivedAt === null ? 0 : now - this.#receivedAt;
    const passedThereMs = passedMs > EXTRAPOLATION_MS_MAX ? 0 : passedMs * CLOCK_RATE_MIN;
    this.#passedUntil = Math.max(this.#passedUntil, this.#reportedAt + passedThereMs);
    return this.#passedUntil;
  }
}
