import { type Clock, waitAtMost } from "../runtime/clock.ts";
import { type TimerQueue, wakeBy } from "../runtime/timer-queue.ts";
import type { Store } from "../store/store.ts";

/** How long those who wait for a deadline are kept until the store has said what time it is. */
const SAYING_MS_MAX = 1_000;

/** For how long after the store has said its time a clock that nobody sets tells how it goes on. */
const TOLD_MS_MAX = 20;
/** Of what passes here, so much has passed there for certain: a clock that is being set right may be slower. */
const PACE_MIN = 0.9;

interface Waiting {
  readonly at: number;
  readonly call: () => void;
}

/**
 * When a deadline has come by the store's clock. One that the store has said to have come needs not be put to it: what sleeps
 * goes on at once, and many that sleep until the same time ask once.
 *
 * 1. Nothing but what the store has said, with the moment that has passed since, or a clock that is the store's own, makes a deadline
 *    certain: an estimate may be ahead. The moment is told by a clock that nobody sets, where there is one.
 * 2. Whoever waits for a deadline is called, whatever becomes of the question: a deadline that is not certain is put to the store.
 */
export class StoreClock {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #wakeBy: Clock["wakeAt"];
  readonly #ticks: () => number | null;
  #waiting: Waiting[] = [];
  #querying = false;
  /** The latest time that the store has said it to be. */
  #reportedAt = Number.NEGATIVE_INFINITY;
  /** When that was heard, by the clock that nobody sets. */
  #receivedAt: number | null = null;
  /** The latest time that was certain. */
  #passedUntil = Number.NEGATIVE_INFINITY;

  /** `ticks` are of a clock that nobody sets, in ms; null: there is none. */
  constructor(store: Store, clock: TimerQueue, ticks: () => number | null) {
    this.#store = store;
    this.#clock = clock;
    this.#ticks = ticks;
    this.#wakeBy = wakeBy(clock, () => store.now());
  }

  /** Whether the time is over for certain, where `now` says that it is. */
  readonly hasPassed = (at: number): boolean =>
    this.#store.exactClock || at <= this.#passedUntil || at <= this.#extrapolate();

  /** Calls back when a deadline has come, for certain where the store can say it in time. */
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
    // All that are due at one time have come by then.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const asked = this.#waiting;
      this.#waiting = [];
      await waitAtMost(this.#clock, SAYING_MS_MAX, this.#readClock());
      // The answer may be for those as well that came while it was on its way.
      const reached = this.#extrapolate();
      const more = this.#waiting.filter(({ at }) => at <= reached);
      this.#waiting = this.#waiting.filter(({ at }) => at > reached);
      for (const { call } of [...asked, ...more]) call();
    }
    this.#querying = false;
  }

  async #readClock(): Promise<void> {
    const asked = Promise.resolve(this.#store.readClock?.());
    // One that can't say it is told the deadlines, and what is wrong with it is seen then.
    const said = await asked.then((present) => present ?? this.#reportedAt).catch(() => this.#reportedAt);
    if (said <= this.#reportedAt) return;
    this.#reportedAt = said;
    this.#receivedAt = this.#ticks();
  }

  /** The time that the store's clock has come to by now, for certain. */
  #extrapolate(): number {
    const now = this.#ticks();
    const passedMs = now === null || this.#receivedAt === null ? 0 : now - this.#receivedAt;
    const passedThereMs = passedMs > TOLD_MS_MAX ? 0 : passedMs * PACE_MIN;
    this.#passedUntil = Math.max(this.#passedUntil, this.#reportedAt + passedThereMs);
    return this.#passedUntil;
  }
}
