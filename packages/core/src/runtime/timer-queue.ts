import type { Clock } from "./clock.ts";
import { DeadlineHeap } from "./deadline-heap.ts";

interface Timer {
  /** Null once it was called or cancelled: nothing that it held is kept until its time. */
  callback: (() => void) | null;
}

/** Appointments for one time that were made one after the other: many runs that sleep until then are one thing to look for. */
interface Group {
  readonly at: number;
  readonly timers: Timer[];
  /** How many are neither called nor cancelled. */
  open: number;
}

/** What is cancelled is kept as long as its group has others. */
const GROUP_MAX = 64;

function callAll(group: Group): void {
  for (const appointment of group.timers) {
    const { callback } = appointment;
    if (callback === null) continue;
    appointment.callback = null;
    group.open -= 1;
    callback();
  }
}

/**
 * Many wake-ups on one timer of the clock: the earliest is armed. Times are rounded up to whole multiples of
 * `resolutionMs`, so that wake-ups that lie close together come together.
 */
export class TimerQueue implements Clock {
  readonly #clock: Clock;
  readonly #resolutionMs: number;
  readonly #deadlines = new DeadlineHeap<Group>(({ open }) => open > 0);
  #latest: Group | null = null;
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
    const appointment: Timer = { callback };
    const group = this.#groupAt(Math.ceil(at / this.#resolutionMs) * this.#resolutionMs);
    group.timers.push(appointment);
    this.#arm();
    return () => {
      if (appointment.callback === null) return;
      appointment.callback = null;
      group.open -= 1;
    };
  }

  /** Calls what is due without waiting for the timer; says whether anything was. */
  catchUp(): boolean {
    if (this.#armedAt === Number.NEGATIVE_INFINITY) return false;
    const now = this.#clock.now();
    let called = false;
    for (let due = this.#deadlines.takeDue(now); due !== null; due = this.#deadlines.takeDue(now)) {
      // Nothing joins it any more.
      if (due === this.#latest) this.#latest = null;
      called = true;
      try {
        callAll(due);
      } finally {
        // One that throws keeps none of the others from its time.
        if (due.open > 0) this.#deadlines.add(due.at, due);
      }
    }
    return called;
  }

  /** Nothing is called any more. */
  clear(): void {
    this.#disarm?.();
    this.#armedAt = Number.NEGATIVE_INFINITY;
  }

  /** The group that one more appointment is in. One in which none is open any more may be looked for no more. */
  #groupAt(at: number): Group {
    const latest = this.#latest;
    if (latest?.at === at && latest.open > 0 && latest.timers.length < GROUP_MAX) {
      latest.open += 1;
      return latest;
    }
    const group: Group = { at, timers: [], open: 1 };
    this.#deadlines.add(at, group);
    this.#latest = group;
    return group;
  }

  #arm(): void {
    const at = this.#deadlines.earliest();
    if (at === null || at >= this.#armedAt) return;
    this.#disarm?.();
    this.#armedAt = at;
    this.#disarm = this.#clock.wakeAt(at, () => this.#fire());
  }

  #fire(): void {
    this.#disarm = null;
    if (this.#armedAt === Number.NEGATIVE_INFINITY) return;
    this.#armedAt = Number.POSITIVE_INFINITY;
    try {
      this.catchUp();
    } finally {
      this.#arm();
    }
  }
}

/** Wake-ups by another clock than the one that is armed: a time there is as far away here. */
export function wakeBy(clock: Clock, now: () => number): Clock["wakeAt"] {
  return (at, callback) => clock.wakeAt(clock.now() + Math.max(0, at - now()), callback);
}

interface Alarm {
  /** Calls back when the time has come; the returned function cancels. */
  wakeAt(at: number, callback: () => void): () => void;
}

/** One wake-up at a time: setting another takes the place of the one before. */
export class SingleTimer {
  readonly #alarm: Alarm;
  readonly #sleeper: { wake(): void };
  #at: number | null = null;
  #cancel: (() => void) | null = null;

  constructor(alarm: Alarm, sleeper: { wake(): void }) {
    this.#alarm = alarm;
    this.#sleeper = sleeper;
  }

  set(at: number | null): void {
    if (at === this.#at) return;
    this.#cancel?.();
    this.#at = at;
    this.#cancel = at === null ? null : this.#alarm.wakeAt(at, () => this.#sleeper.wake());
  }
}
