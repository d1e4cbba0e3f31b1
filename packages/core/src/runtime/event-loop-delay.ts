import type { Clock } from "./clock.ts";

/**
 * Measures how long the event loop was blocked: how much later than requested a timer was called. It uses the monotonic clock if the
 * platform has one, so an adjustment of the system clock is no delay.
 */
export class EventLoopDelay {
  readonly #ticks: () => number;
  #dueAt: number | null = null;

  constructor(clock: Clock) {
    this.#ticks = () => clock.ticks?.() ?? clock.now();
  }

  /** A timer was set to call back after `ms`. */
  timerSet(ms: number): void {
    this.#dueAt = this.#ticks() + ms;
  }

  /** The timer was called. Returns how many ms late. */
  timerCalled(): number {
    if (this.#dueAt === null) return 0;
    return Math.max(0, Math.round(this.#ticks() - this.#dueAt));
  }
}
