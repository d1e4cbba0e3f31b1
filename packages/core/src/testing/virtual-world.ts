import type { World } from "../engine/config.ts";
import { DURATION_MS_MAX, type Duration, parseDuration } from "../model/duration.ts";
import { kinds, notAllowed, optionTable, readArgument, readOptions } from "../model/option-check.ts";
import type { Clock } from "../runtime/clock.ts";
import { type EventLoop, nodeEventLoop } from "../runtime/event-loop.ts";
import { seededRandom } from "../runtime/random.ts";

/** 2024-01-01T00:00:00Z. */
const START_AT = 1_704_067_200_000;
/** The world has settled after this many turns of the event loop without work. */
const QUIET_TURNS = 3;
const TURNS_MAX = 1_000_000;

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that moves only by `set`. */
export class VirtualClock implements Clock {
  /** In the order in which they were requested. */
  readonly #timers = new Set<Timer>();
  #now: number;

  constructor(now: number) {
    this.#now = readArgument(kinds.time, now, "now");
  }

  now(): number {
    return this.#now;
  }

  wakeAt(at: number, callback: () => void): () => void {
    if (Number.isNaN(at) || typeof at !== "number") throw notAllowed("at", "epoch ms", at);
    const timer = { at, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** The time of the next timer. Null if there is none. */
  get nextAt(): number | null {
    return this.#next()?.at ?? null;
  }

  /** Sets the time, forwards or backwards, without firing timers. */
  set(now: number): void {
    this.#now = readArgument(kinds.time, now, "now");
  }

  /** Fires the earliest due timer. Returns false if there is none. */
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

/** A world for tests. Its time moves only by `advance` and `leap`, and its random numbers and ids are the same in each test. */
export interface VirtualWorld extends World {
  readonly clock: VirtualClock;
  now(): number;
  /** Marks the start of work outside the world. The world does not settle before the returned function is called. */
  hold(): () => void;
  /** Resolves when everything that needs no time has happened. */
  settle(): Promise<void>;
  /** Advances the time by `duration`. Timers fire in order, each after the world has settled from the one before. */
  advance(duration: Duration): Promise<void>;
  /** Moves the clock by `ms` at once, as for a process that was stopped, then fires the due timers. May be negative. */
  leap(ms: number): Promise<void>;
}

export function virtualClock(now = START_AT): VirtualClock {
  return new VirtualClock(now);
}

interface WorldOptions {
  readonly now?: number;
  readonly seed?: number;
}

/** The kind of a seed. Any integer is one. */
export const SEED = kinds.integer(Number.MIN_SAFE_INTEGER);

const WORLD_OPTIONS = optionTable<WorldOptions>("virtualWorld", { now: kinds.time, seed: SEED });

export function virtualWorld(given?: WorldOptions): VirtualWorld {
  const options = readOptions(WORLD_OPTIONS, given);
  const clock = virtualClock(options.now);
  const eventLoop = new CountedEventLoop();
  const fireUntil = async (at: number): Promise<void> => {
    await eventLoop.settle();
    for (let next = clock.nextAt; next !== null && next <= at; next = clock.nextAt) {
      clock.set(Math.max(next, clock.now()));
      clock.fire();
      await eventLoop.settle();
    }
  };
  return {
    clock,
    eventLoop,
    random: seededRandom(options.seed ?? 1),
    now: () => clock.now(),
    hold: () => eventLoop.hold(),
    settle: () => eventLoop.settle(),
    async advance(duration) {
      const at = clock.now() + parseDuration(duration, "duration of advance");
      await fireUntil(at);
      clock.set(at);
    },
    async leap(ms) {
      clock.set(clock.now() + readArgument(kinds.number(-DURATION_MS_MAX, DURATION_MS_MAX), ms, "ms"));
      await fireUntil(clock.now());
    },
  };
}

/** Node's event loop with a count of pending callbacks, so that it is known when the engine is idle. */
class CountedEventLoop implements EventLoop {
  readonly #node = nodeEventLoop();
  #pending = 0;
  #held = 0;
  /** Callbacks that wait for the end of work outside the world. */
  readonly #waiting = new Set<() => void>();

  whenIdle(callback: () => void): void {
    this.#pending += 1;
    this.#node.whenIdle(() => {
      this.#pending -= 1;
      callback();
    });
  }

  afterTurn(callback: () => void): void {
    this.#pending += 1;
    this.#node.afterTurn(() => {
      this.#pending -= 1;
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
      for (const resume of this.#waiting) resume();
      this.#waiting.clear();
    };
  }

  async settle(): Promise<void> {
    let quiet = 0;
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      await this.#turn();
      quiet = this.#pending + this.#held === 0 ? quiet + 1 : 0;
      if (quiet === QUIET_TURNS) return;
    }
    throw new Error(`the world is still busy after ${TURNS_MAX} turns; check the workflow for a loop without a wait`);
  }

  /** The next turn. If only outside work is pending, waits for its end without polling, which leaves the processor to that work. */
  #turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#pending === 0 && this.#held > 0) this.#waiting.add(resolve);
      else setImmediate(resolve);
    });
  }
}
