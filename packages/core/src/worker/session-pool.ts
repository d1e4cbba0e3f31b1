import type { RunSession } from "../runner/session-ports.ts";

export interface SessionPoolLimits {
  /** Sessions that work at a time. */
  readonly workingMax: number;
  /** Resting sessions that stay in memory. */
  readonly restingMax: number;
  /** What resting sessions may hold in payload bytes, estimated. */
  readonly restingBytesMax: number;
}

/** A slot that is kept for a session until it works, or until it is clear that it won't. */
export interface Slot {
  give(): void;
}

/**
 * The sessions in memory: those that work, and those that rest and are hot.
 *
 * 1. At most `workingMax` sessions work at a time; what is woken beyond that waits its turn, first come first served.
 * 2. A resting session holds no slot. Beyond the bounds the one that has rested longest is forgotten: its run stays as it is.
 */
export class SessionPool {
  readonly #limits: SessionPoolLimits;
  readonly #appoint: (at: number, wake: () => void) => () => void;
  readonly #onEvicted: (runId: string) => void;
  readonly #all = new Map<string, RunSession>();
  /** In the order in which they came to rest, each with what cancels its appointment. */
  readonly #resting = new Map<RunSession, (() => void) | null>();
  readonly #turns: Array<(slot: Slot) => void> = [];
  readonly #onGiven = (): void => {
    this.#kept -= 1;
    this.#next();
  };
  #restingBytes = 0;
  #working = 0;
  #kept = 0;

  /** `appoint` calls back when the store's clock has come to a time. */
  constructor(
    limits: SessionPoolLimits,
    appoint: (at: number, wake: () => void) => () => void,
    onEvicted: (runId: string) => void,
  ) {
    this.#limits = limits;
    this.#appoint = appoint;
    this.#onEvicted = onEvicted;
  }

  get size(): number {
    return this.#all.size;
  }

  get working(): number {
    return this.#working;
  }

  /** Slots that nobody has and nobody waits for. */
  get room(): number {
    return Math.max(0, this.#free - this.#turns.length);
  }

  get(runId: string): RunSession | undefined {
    return this.#all.get(runId);
  }

  all(): readonly RunSession[] {
    return [...this.#all.values()];
  }

  /** Keeps a slot for a session that is about to work; null if there is none. */
  keep(): Slot | null {
    return this.room > 0 ? this.#slot() : null;
  }

  /** Calls with a slot: now, or when one is given back. */
  whenRoom(call: (slot: Slot) => void): void {
    if (this.#free > 0) call(this.#slot());
    else this.#turns.push(call);
  }

  /** Calls `wake`, which makes a resting session work: now, or when there is a slot for it. */
  wakeWhenRoom(wake: () => void): void {
    if (this.#free > 0) {
      wake();
      return;
    }
    this.#turns.push((slot) => {
      // The slot is given back when the session has its own: else the next in turn would get it too.
      wake();
      slot.give();
    });
  }

  add(session: RunSession): void {
    this.#all.set(session.runId, session);
    this.#working += 1;
  }

  woke(session: RunSession): void {
    if (this.#unrest(session)) this.#working += 1;
  }

  /** Gives its slot back, and has it woken at its deadline. Those that have rested longest are forgotten for it. */
  rested(session: RunSession): void {
    const { until } = session;
    this.#resting.set(session, until === null ? null : this.#appoint(until, () => this.#due(session)));
    this.#restingBytes += session.bytes;
    this.#working -= 1;
    while (this.#resting.size > this.#limits.restingMax || this.#restingBytes > this.#limits.restingBytesMax) {
      const oldest = this.#resting.keys().next().value;
      if (oldest === undefined) break;
      this.remove(oldest);
      oldest.evict();
      this.#onEvicted(oldest.runId);
    }
    this.#next();
  }

  remove(session: RunSession): void {
    if (this.#all.get(session.runId) !== session) return;
    this.#all.delete(session.runId);
    if (this.#unrest(session)) return;
    this.#working -= 1;
    this.#next();
  }

  #due(session: RunSession): void {
    if (!session.resting) return;
    this.wakeWhenRoom(() => session.wake());
  }

  #unrest(session: RunSession): boolean {
    const cancel = this.#resting.get(session);
    if (cancel === undefined) return false;
    this.#resting.delete(session);
    this.#restingBytes -= session.bytes;
    cancel?.();
    return true;
  }

  get #free(): number {
    return this.#limits.workingMax - this.#working - this.#kept;
  }

  #slot(): Slot {
    this.#kept += 1;
    return new KeptSlot(this.#onGiven);
  }

  #next(): void {
    while (this.#free > 0 && this.#turns.length > 0) this.#turns.shift()?.(this.#slot());
  }
}

class KeptSlot implements Slot {
  #onGiven: (() => void) | null;

  constructor(onGiven: () => void) {
    this.#onGiven = onGiven;
  }

  give(): void {
    const onGiven = this.#onGiven;
    this.#onGiven = null;
    onGiven?.();
  }
}
