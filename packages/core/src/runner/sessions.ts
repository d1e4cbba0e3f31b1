import { PawlError } from "../model/errors.ts";
import type { Run } from "../model/run.ts";
import type { Loaded } from "../store/store.ts";
import type { Interpreter } from "./session-world.ts";

export interface SessionsLimits {
  /** Sessions that work at a time. */
  readonly workingMax: number;
  /** Resting sessions that stay in memory. */
  readonly restingMax: number;
  /** What resting sessions may hold in payload bytes, estimated. */
  readonly restingBytesMax: number;
}

/**
 * The sessions in memory: those that work, and those that rest and are hot.
 *
 * H1. At most `workingMax` sessions work at a time; what is woken beyond that waits its turn, first come first served.
 * H2. A resting session holds no slot. Beyond the bounds the one that has rested longest is forgotten: its run stays as it is.
 */
export class Sessions {
  readonly #limits: SessionsLimits;
  readonly #all = new Map<string, Interpreter>();
  /** In the order in which they came to rest. */
  readonly #resting = new Map<string, Interpreter>();
  readonly #turns: Array<() => void> = [];
  #restingBytes = 0;
  #working = 0;

  constructor(limits: SessionsLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  get working(): number {
    return this.#working;
  }

  /** Slots that nobody has and nobody waits for. */
  get room(): number {
    return Math.max(0, this.#limits.workingMax - this.#working - this.#turns.length);
  }

  get(runId: string): Interpreter | undefined {
    return this.#all.get(runId);
  }

  all(): readonly Interpreter[] {
    return [...this.#all.values()];
  }

  /** Calls when there is a slot: now, or when one is given back. */
  whenRoom(call: () => void): void {
    if (this.#working < this.#limits.workingMax) call();
    else this.#turns.push(call);
  }

  add(session: Interpreter): void {
    this.#all.set(session.runId, session);
    this.#working += 1;
  }

  woke(session: Interpreter): void {
    if (!this.#resting.delete(session.runId)) return;
    this.#restingBytes -= session.bytes;
    this.#working += 1;
  }

  /** Gives its slot back; gives the sessions that are forgotten for it. */
  rested(session: Interpreter): void {
    this.#resting.set(session.runId, session);
    this.#restingBytes += session.bytes;
    this.#working -= 1;
    while (this.#resting.size > this.#limits.restingMax || this.#restingBytes > this.#limits.restingBytesMax) {
      const oldest = this.#resting.values().next().value;
      if (oldest === undefined) break;
      this.remove(oldest);
      oldest.abandon(new PawlError("OWNERSHIP_LOST", `run ${oldest.runId} is no longer in memory`));
    }
    this.#next();
  }

  remove(session: Interpreter): void {
    if (this.#all.get(session.runId) !== session) return;
    this.#all.delete(session.runId);
    if (this.#resting.delete(session.runId)) {
      this.#restingBytes -= session.bytes;
      return;
    }
    this.#working -= 1;
    this.#next();
  }

  #next(): void {
    if (this.#working < this.#limits.workingMax) this.#turns.shift()?.();
  }
}

/** A run that was created a moment ago, by this process: nothing of it needs to be read. */
export function freshlyLoaded(run: Run): Loaded {
  return { run, snapshot: null, records: [], inbox: [] };
}
