import type { World } from "../engine/config.ts";
import { type Duration, parseDuration } from "../model/duration.ts";
import type { Clock } from "../runtime/clock.ts";
import { type EventLoop, nodeEventLoop } from "../runtime/event-loop.ts";
import { seededRandom } from "../runtime/random.ts";

/** 2024-01-01T00:00:00Z. */
const START_AT = 1_704_067_200_000;
/** After this many turns without anything to do, everything has come to rest. */
const QUIET_TURNS = 3;
const TURNS_MAX = 1_000_000;

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Time that moves when it is told to. */
export class VirtualClock implements Clock {
  /** In the order in which they were asked for. */
  readonly #timers = new Set<Timer>();
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  wakeAt(at: number, callback: () => void): () => void {
    const timer = { at, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** When the next timer is due; null if there is none. */
  get nextAt(): number | null {
    return this.#next()?.at ?? null;
  }

  /** Sets the time, forwards or back. Fires nothing. */
  set(now: number): void {
    this.#now = now;
  }

  /** Fires the earliest timer whose time has come; false if there is none. */
  fire(): boolean {
    const timer = this.#next();
    if (timer === null || timer.at > this.#now) return false;
    this.#timers.delete(timer);
    timer.callback();
    return true;
  }

  #next(): Timer | null {
    let earliest: Timer | null = null;
    for (const timer of this.#timers) if (earliest === null || timer.at < earliest.at) earliest = timer;
    return earliest;
  }
}

/** A world for tests: its time moves when it is told to, its randomness and ids are the same in each run. */
export interface VirtualWorld extends World {
  readonly clock: VirtualClock;
  now(): number;
  /** Something is under way outside: nothing has come to rest before the returned function is called. */
  hold(): () => void;
  /** Lets everything that is under way come to rest. No time passes. */
  settle(): Promise<void>;
  /** Lets time pass: timers fire one after the other, each when everything has come to rest from the one before. */
  advance(duration: Duration): Promise<void>;
  /** Moves the clock at once, as for a process that was stopped meanwhile; then fires what is due. May be negative. */
  leap(ms: number): Promise<void>;
}

export function virtualClock(now = START_AT): VirtualClock {
  return new VirtualClock(now);
}

export function virtualWorld(options: { readonly now?: number; readonly seed?: number } = {}): VirtualWorld {
  const clock = virtualClock(options.now);
  const turns = new CountedTurns();
  const fireUntil = async (at: number): Promise<void> => {
    await turns.settle();
    for (let next = clock.nextAt; next !== null && next <= at; next = clock.nextAt) {
      clock.set(Math.max(next, clock.now()));
      clock.fire();
      await turns.settle();
    }
  };
  return {
    clock,
    eventLoop: turns,
    random: seededRandom(options.seed ?? 1),
    now: () => clock.now(),
    hold: () => turns.hold(),
    settle: () => turns.settle(),
    async advance(duration) {
      const at = clock.now() + parseDuration(duration, "duration of advance");
      await fireUntil(at);
      clock.set(at);
    },
    async leap(ms) {
      clock.set(clock.now() + ms);
      await fireUntil(clock.now());
    },
  };
}

/** Node's turns, counted: so that it is known when nobody waits for one. */
class CountedTurns implements EventLoop {
  readonly #turns = nodeEventLoop();
  #asked = 0;
  #held = 0;
  /** Those who wait for what is under way outside. */
  readonly #waiting = new Set<() => void>();

  whenIdle(callback: () => void): void {
    this.#asked += 1;
    this.#turns.whenIdle(() => {
      this.#asked -= 1;
      callback();
    });
  }

  afterTurn(callback: () => void): void {
    this.#asked += 1;
    this.#turns.afterTurn(() => {
      this.#asked -= 1;
      callback();
    });
  }

  hold(): () => void {
    this.#held += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#held -= 1;
      for (const go of this.#waiting) go();
      this.#waiting.clear();
    };
  }

  async settle(): Promise<void> {
    let quiet = 0;
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      await this.#turn();
      quiet = this.#asked + this.#held === 0 ? quiet + 1 : 0;
      if (quiet === QUIET_TURNS) return;
    }
    throw new Error(`there was something to do for ${TURNS_MAX} turns on end: does a workflow loop without a wait?`);
  }

  /** Where only answers from outside are awaited, the next comes when one has come: they need the processor more. */
  #turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#asked === 0 && this.#held > 0) this.#waiting.add(resolve);
      else setImmediate(resolve);
    });
  }
}
