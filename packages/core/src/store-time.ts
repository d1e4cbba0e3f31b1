import { type Agenda, wakeBy } from "./runtime/agenda.ts";
import { atMost } from "./runtime/at-most.ts";
import type { Clock } from "./runtime/clock.ts";
import type { Store } from "./store/store.ts";

/** How long those who wait for a deadline are kept until the store has said what time it is. */
const SAYING_MS_MAX = 1_000;

/**
 * When a deadline has come by the store's clock. One that the store has said to have come needs not be put to it: what sleeps
 * goes on at once, and many that sleep until the same time ask once.
 *
 * Y1. Nothing but what the store has said, or a clock that is the store's own, makes a deadline certain: an estimate may be ahead.
 * Y2. Whoever waits for a deadline is called, whatever becomes of the question: a deadline that is not certain is put to the store.
 */
export class StoreTime {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #wakeBy: Clock["wakeAt"];
  #waiting: (() => void)[] = [];
  #asking = false;
  /** The latest time that the store has said it to be. */
  #said = Number.NEGATIVE_INFINITY;

  constructor(store: Store, clock: Agenda) {
    this.#store = store;
    this.#clock = clock;
    this.#wakeBy = wakeBy(clock, () => store.now());
  }

  /** Whether the time is over for certain, where `now` says that it is. */
  readonly hasCome = (at: number): boolean => this.#store.exactClock || at <= this.#said;

  /** Calls back when a deadline has come, for certain where the store can say it in time. */
  readonly wakeAt = (at: number, callback: () => void): (() => void) => {
    if (this.#store.exactClock || this.#store.readClock === undefined) return this.#wakeBy(at, callback);
    let waits = true;
    const cancel = this.#wakeBy(at, () => {
      this.#waiting.push(() => {
        if (waits) callback();
      });
      if (!this.#asking) void this.#ask();
    });
    return () => {
      waits = false;
      cancel();
    };
  };

  async #ask(): Promise<void> {
    this.#asking = true;
    // All that are due at one time have come by then.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      await atMost(this.#clock, SAYING_MS_MAX, this.#hear());
      for (const call of waiting) call();
    }
    this.#asking = false;
  }

  async #hear(): Promise<void> {
    const asked = Promise.resolve(this.#store.readClock?.());
    // One that can't say it is told the deadlines, and what is wrong with it is seen then.
    const said = await asked.then((present) => present ?? this.#said).catch(() => this.#said);
    this.#said = Math.max(this.#said, said);
  }
}
