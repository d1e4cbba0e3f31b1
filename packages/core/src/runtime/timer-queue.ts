import type { Clock } from "./clock.ts";
import { DeadlineHeap } from "./deadline-heap.ts";

interface Timer {
  /** Null after it was called or cancelled, so that the closure can be collected before the time of its group. */
  callback: (() => void) | null;
}

/** Consecutive timers for the same time. Many runs that sleep until that time take one entry in the heap. */
interface Group {
  readonly at: number;
  readonly timers: Timer[];
  /** How many timers are neither called nor cancelled. */
  open: number;
}

/** Maximum number of timers in a group. A cancelled timer stays in memory until its whole group is done. */
const GROUP_MAX = 64;

/**
 * Multiplexes many timers onto one timer of the clock, which is armed for the earliest. Times are rounded up to multiples of
 * `resolutionMs`, so that timers close together fire together.
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
    const timer: Timer = { callback };
    const group = this.#groupAt(Math.ceil(at / this.#resolutionMs) * this.#resolutionMs);
    group.timers.push(timer);
    this.#arm();
    return () => {
      if (timer.callback === null) return;
      timer.callback = null;
      group.open -= 1;
    };
  }

  /** Calls all due timers at once. Returns whether there were any. */
  catchUp(): boolean {
    if (this.#armedAt === Number.NEGATIVE_INFINITY) return false;
    const now = this.#clock.now();
    let called = false;
    for (let due = this.#deadlines.takeDue(now); due !== null; due = this.#deadlines.takeDue(now)) {
      // The group was removed from the heap, so no further timer may join it.
      if (due === this.#latest) this.#latest = null;
      called = true;
      try {
        callAll(due);
      } finally {
        // When a callback throws, the other timers of its group are still called.
        if (due.open > 0) this.#deadlines.add(due.at, due);
      }
    }
    return called;
  }

  /** Stops permanently: no timer is called afterwards. */
  clear(): void {
    this.#disarm?.();
    this.#armedAt = Number.NEGATIVE_INFINITY;
  }

  /** Returns the group for one more timer. A group without open timers may have left the heap, and is not reused. */
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

function callAll(group: Group): void {
  for (const timer of group.timers) {
    const { callback } = timer;
    if (callback === null) continue;
    timer.callback = null;
    group.open -= 1;
    callback();
  }
}

/** Turns a time on another clock, read by `now`, into a delay on `clock`. */
export function wakeBy(clock: Clock, now: () => number): Clock["wakeAt"] {
  return (at, callback) => clock.wakeAt(clock.now() + Math.max(0, at - now()), callback);
}

interface Alarm {
  /** Calls back at `at`. The returned function cancels. */
  wakeAt(at: number, callback: () => void): () => void;
}

/** One timer at a time. Setting another replaces it. */
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
