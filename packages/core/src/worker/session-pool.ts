import type { RunSession } from "../runner/session-ports.ts";
import type { WorkerEvents } from "./worker-events.ts";

export interface SessionPoolLimits {
  /** Sessions that may work at the same time. */
  readonly workingMax: number;
  /** Parked sessions kept in memory. */
  readonly parkedMax: number;
  /** Estimated payload bytes that parked sessions may hold. */
  readonly parkedBytesMax: number;
}

/** The right to execute one run, reserved until its session works or is given up. */
export interface Slot {
  release(): void;
}

/**
 * The sessions in memory: working ones, and parked ones that stay hot.
 *
 * 1. At most `workingMax` sessions work at a time. Wake-ups beyond that wait for a slot in FIFO order.
 * 2. A parked session holds no slot. Beyond the limits the session parked longest is evicted; its run is not changed.
 * 3. While only some runs are admitted, no other run gets a slot, and there is no room. Slots that were given stay.
 */
export class SessionPool {
  readonly #limits: SessionPoolLimits;
  readonly #wakeAt: (at: number, wake: () => void) => () => void;
  readonly #events: Pick<WorkerEvents, "onEvicted">;
  readonly #all = new Map<string, RunSession>();
  /** In the order in which they were parked, each with the function that cancels its timer. */
  readonly #parked = new Map<RunSession, (() => void) | null>();
  readonly #slotQueue: WaitingForSlot[] = [];
  /** The runs that get slots. Null for all. */
  #admitted: ReadonlySet<string> | null = null;
  readonly #onReleased = (): void => {
    this.#reserved -= 1;
    this.#next();
  };
  #parkedBytes = 0;
  #working = 0;
  #reserved = 0;

  /** `wakeAt` calls back when a deadline has passed on the store's clock. */
  constructor(
    limits: SessionPoolLimits,
    wakeAt: (at: number, wake: () => void) => () => void,
    events: Pick<WorkerEvents, "onEvicted">,
  ) {
    this.#limits = limits;
    this.#wakeAt = wakeAt;
    this.#events = events;
  }

  get size(): number {
    return this.#all.size;
  }

  get working(): number {
    return this.#working;
  }

  /** Whether no session works, and none is about to. */
  get isIdle(): boolean {
    return this.#working === 0 && this.#reserved === 0;
  }

  /** Free slots that no wake-up waits for. */
  get room(): number {
    return this.#admitted === null ? Math.max(0, this.#free - this.#slotQueue.length) : 0;
  }

  /** Only these runs get slots from now on. Null for all. */
  admitOnly(runIds: ReadonlySet<string> | null): void {
    this.#admitted = runIds;
    this.#next();
  }

  get(runId: string): RunSession | undefined {
    return this.#all.get(runId);
  }

  all(): readonly RunSession[] {
    return [...this.#all.values()];
  }

  /** Reserves a slot for a session that is about to work. Null if none is free. */
  reserveSlot(): Slot | null {
    return this.room > 0 ? this.#slot() : null;
  }

  /** Calls `call` with a slot, now or when one is released. */
  withSlot(runId: string, call: (slot: Slot) => void): void {
    if (this.#free > 0 && this.#admits(runId)) call(this.#slot());
    else this.#slotQueue.push({ runId, call });
  }

  /** Calls `wake`, which makes a parked session work, now or when a slot is released. */
  wakeWithSlot(runId: string, wake: () => void): void {
    if (this.#free > 0 && this.#admits(runId)) {
      wake();
      return;
    }
    const call = (slot: Slot): void => {
      // Released after the session has taken its own slot. Earlier, the next in the queue would get the same one.
      wake();
      slot.release();
    };
    this.#slotQueue.push({ runId, call });
  }

  add(session: RunSession): void {
    this.#all.set(session.runId, session);
    this.#working += 1;
  }

  unpark(session: RunSession): void {
    if (this.#removeParked(session)) this.#working += 1;
  }

  /** Releases the session's slot and arms a timer for its deadline. Evicts the sessions parked longest if a limit is exceeded. */
  park(session: RunSession): void {
    const { nextDeadline } = session;
    const cancel = nextDeadline === null ? null : this.#wakeAt(nextDeadline, () => this.#wakeParked(session));
    this.#parked.set(session, cancel);
    this.#parkedBytes += session.bytes;
    this.#working -= 1;
    while (this.#parked.size > this.#limits.parkedMax || this.#parkedBytes > this.#limits.parkedBytesMax) {
      const oldest = this.#parked.keys().next().value;
      if (oldest === undefined) break;
      this.remove(oldest);
      oldest.evict();
      this.#events.onEvicted(oldest.runId);
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
    this.wakeWithSlot(session.runId, () => session.wake());
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

  #admits(runId: string): boolean {
    return this.#admitted === null || this.#admitted.has(runId);
  }

  #next(): void {
    while (this.#free > 0 && this.#slotQueue.length > 0) {
      const index = this.#slotQueue.findIndex(({ runId }) => this.#admits(runId));
      if (index < 0) return;
      const waiting = index === 0 ? this.#slotQueue.shift() : this.#slotQueue.splice(index, 1)[0];
      waiting?.call(this.#slot());
    }
  }
}

/** A wake-up that waits for a slot. */
interface WaitingForSlot {
  readonly runId: string;
  readonly call: (slot: Slot) => void;
}

class ReservedSlot implements Slot {
  #onReleased: (() => void) | null;

  constructor(onReleased: () => void) {
    this.#onReleased = onReleased;
  }

  release(): void {
    const onReleased = this.#onReleased;
    this.#onReleased = null;
    onReleased?.();
  }
}
