import type { Clock } from "./clock.ts";

/** An item that expires at `expiresAt`, unless it is deleted before. */
export interface Expiring {
  readonly expiresAt: number;
  expire(): void;
}

/** A timer that fires this late means that the process was stopped or its event loop blocked. An answer may have arrived and wait to be read. */
const LATE_MS_MAX = 500;

/**
 * Timeouts of equal length. The item that was added first expires first, so one timer serves all items, and adding or deleting an item
 * does not touch the timer.
 *
 * 1. An item does not expire as soon as the event loop is free after it was blocked: it first gets as much more time, once.
 */
export class TimeoutQueue<Item extends Expiring = Expiring> {
  readonly timeoutMs: number;
  readonly #clock: Clock;
  readonly #items = new Set<Item>();
  #isArmed = false;

  constructor(clock: Clock, timeoutMs: number) {
    this.timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  /** The `expiresAt` of an item that is added now. */
  nextExpiry(): number {
    return this.#clock.now() + this.timeoutMs;
  }

  add(item: Item): void {
    this.#items.add(item);
    if (!this.#isArmed) this.#arm(item.expiresAt);
  }

  delete(item: Item): void {
    this.#items.delete(item);
  }

  /** In the order in which they were added. */
  get items(): Iterable<Item> {
    return this.#items;
  }

  #arm(at: number): void {
    this.#isArmed = true;
    this.#clock.wakeAt(at, () => {
      const lateMs = this.#clock.now() - at;
      if (lateMs > LATE_MS_MAX) this.#armAgain(Math.min(lateMs, this.timeoutMs));
      else this.#expireDue();
    });
  }

  #armAgain(moreMs: number): void {
    this.#clock.wakeAt(this.#clock.now() + moreMs, () => this.#expireDue());
  }

  #expireDue(): void {
    const now = this.#clock.now();
    for (const item of this.#items) {
      if (item.expiresAt > now) {
        this.#arm(item.expiresAt);
        return;
      }
      this.#items.delete(item);
      item.expire();
    }
    this.#isArmed = false;
  }
}
