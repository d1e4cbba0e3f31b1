import type { RunSession } from "../runner/session-ports.ts";

export interface SessionPoolLimits {
  /** Sessions that work at a time. */
  readonly workingMax: number;
  /** Resting sessions that stay in memory. */
  readonly parkedMax: number;
  /** What resting sessions may hold in payload bytes, estimated. */
  readonly parkedBytesMax: number;
}

/** A slot that is kept for a session until it works, or until it is clear that it won't. */
export interface Slot {
  release(): void;
}

/**
 * The sessions in memory: those that work, and those that rest and are hot.
 *
 * 1. At most `workingMax` sessions work at a time; what is woken beyond that waits its turn, first come first served.
 * 2. A resting session holds no slot. Beyond the bounds the one that has rested longest is forgotten: its run stays as it is.
 */
export class SessionPool {
  readonly #limits: SessionPoolLimits;
  readonly #wakeAt: (at: number, wake: () => void) => () => void;
  readonly #onEvicted: (runId: string) => void;
  readonly #all = new Map<string, RunSession>();
  /** In the order in which they came to rest, each with what cancels its appointment. */
  readonly #parked = new Map<RunSession, (() => void) | null>();
  readonly #slotQueue: Array<(slot: Slot) => void> = [];
  readonly #onReleased = (): void => {
    this.#reserved -= 1;
    this.#next();
  };
  #parkedBytes = 0;
  #working = 0;
  #reserved = 0;

  /** `appoint` calls back when the store's clock has come to a time. */
  constructor(
    limits: SessionPoolLimits,
    appoint: (at: number, wake: () => void) => () => void,
    onEvicted: (runId: string) => void,
  ) {
    this.#limits = limits;
    this.#wakeAt = appoint;
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
    return Math.max(0, this.#free - this.#slotQueue.length);
  }

  get(runId: string): RunSession | undefined {
    return this.#all.get(runId);
  }

  all(): readonly RunSession[] {
    return [...this.#all.values()];
  }

  /** Keeps a slot for a session that is about to work; null if there is none. */
  reserveSlot(): Slot | null {
    return this.room > 0 ? this.#slot() : null;
  }

  /** Calls with a slot: now, or when one is given back. */
  withSlot(call: (slot: Slot) => void): void {
    if (this.#free > 0) call(this.#slot());
    else this.#slotQueue.push(call);
  }

  /** Calls `wake`, which makes a resting session work: now, or when there is a slot for it. */
  wakeWithSlot(wake: () => void): void {
    if (this.#free > 0) {
      wake();
      return;
    }
    this.#slotQueue.push((slot) => {
      // The slot is given back when the session has its own: else the next in turn would get it too.
      wake();
      slot.release();
    });
  }

  add(session: RunSession): void {
    this.#all.set(session.runId, session);
    this.#working += 1;
  }

  unpark(session: RunSession): void {
    if (this.#removeParked(session)) this.#working += 1;
  }

  /** Gives its slot back, and has it woken at its deadline. Those that have rested longest are forgotten for it. */
  park(session: RunSession): void {
    const { nextDeadline: until } = session;
    this.#parked.set(session, until === null ? null : this.#wakeAt(until, () => this.#wakeParked(session)));
    this.#parkedBytes += session.bytes;
    this.#working -= 1;
    while (this.#parked.size > this.#limits.parkedMax || this.#parkedBytes > this.#limits.parkedBytesMax) {
      const oldest = this.#parked.keys().next().value;
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
    if (this.#removeParked(session)) return;
    this.#working -= 1;
    this.#next();
  }

  #wakeParked(session: RunSession): void {
    if (!session.isParked) return;
    this.wakeWithSlot(() => session.wake());
  }

  #removeParked(session: RunSession): boolean {
    const cancel = this.#parked.get(session);
    if (cancel === undefined) return false;
    this.#parked.delete(session);
    this.#parkedBytes -= session.bytes;
    cancel?.();
    return true;
  }

  get #free(): number {
    return this.#limits.workingMax - this.#working - this.#reserved;
  }

  #slot(): Slot {
    this.#reserved += 1;
    return new ReservedSlot(this.#onReleased);
  }

  #next(): void {
    while (this.#free > 0 && this.#slotQueue.length > 0) this.#slotQueue.shift()?.(this.#slot());
  }
}

class ReservedSlot implements Slot {
  #onReleased: (() => void) | null;

  constructor(onGiven: () => void) {
    this.#onReleased = onGiven;
  }

  release(): void {
    const onGiven = this.#onReleased;
    this.#onReleased = null;
    onGiven?.();
  }
}
