import type { Clock } from "./clock.ts";
import { Deadlines } from "./deadlines.ts";

interface Appointment {
  /** Null once it was called or cancelled: nothing that it held is kept until its time. */
  callback: (() => void) | null;
}

/**
 * Many wake-ups on one timer of the clock: the earliest is armed. Times are rounded up to whole multiples of
 * `resolutionMs`, so that wake-ups that lie close together come together.
 */
export class Agenda implements Clock {
  readonly #clock: Clock;
  readonly #resolutionMs: number;
  readonly #deadlines = new Deadlines<Appointment>(({ callback }) => callback !== null);
  #armedAt = Number.POSITIVE_INFINITY;
  #disarm: (() => void) | null = null;

  constructor(clock: Clock, resolutionMs: number) {
    this.#clock = clock;
    this.#resolutionMs = resolutionMs;
  }

  now(): number {
    return this.#clock.now();
  }

  wakeAt(at: number, callback: () => void): () => void {
    const appointment: Appointment = { callback };
    this.#deadlines.add(Math.ceil(at / this.#resolutionMs) * this.#resolutionMs, appointment);
    this.#arm();
    return () => {
      appointment.callback = null;
    };
  }

  /** Calls what is due without waiting for the timer; says whether anything was. */
  catchUp(): boolean {
    if (this.#armedAt === Number.NEGATIVE_INFINITY) return false;
    const now = this.#clock.now();
    let called = false;
    for (let due = this.#deadlines.takeDue(now); due !== null; due = this.#deadlines.takeDue(now)) {
      const { callback } = due;
      due.callback = null;
      callback?.();
      called = true;
    }
    return called;
  }

  /** Nothing is called any more. */
  clear(): void {
    this.#disarm?.();
    this.#armedAt = Number.NEGATIVE_INFINITY;
  }

  #arm(): void {
    const at = this.#deadlines.earliest();
    if (at === null || at >= this.#armedAt) return;
    this.#disarm?.();
    this.#armedAt = at;
    this.#disarm = this.#clock.wakeAt(at, () => this.#ring());
  }

  #ring(): void {
    this.#disarm = null;
    if (this.#armedAt === Number.NEGATIVE_INFINITY) return;
    this.#armedAt = Number.POSITIVE_INFINITY;
    this.catchUp();
    this.#arm();
  }
}

/** Wake-ups by another clock than the one that is armed: a time there is as far away here. */
export function wakeBy(clock: Clock, now: () => number): Clock["wakeAt"] {
  return (at, callback) => clock.wakeAt(clock.now() + Math.max(0, at - now()), callback);
}
