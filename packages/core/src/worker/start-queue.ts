import type { NewRun, Run } from "../model/run.ts";
import type { EventLoop } from "../runtime/event-loop.ts";
import type { Loaded } from "../store/store.ts";
import type { Slot } from "./session-pool.ts";

export interface StartQueueParts {
  /** How many more runs the store has capacity for; zero or less when the active runs keep it busy. */
  readonly room: () => number;
  readonly eventLoop: Pick<EventLoop, "afterTurn">;
  readonly start: (start: PendingStart) => void;
  /** No run waits to start any more. */
  readonly onAllStarted: () => void;
}

/**
 * Runs created by this process that have not started yet.
 *
 * 1. While the active runs keep the store busy, new runs wait in FIFO order. The first runs finish sooner than if all started at
 *    once; the last finish no later.
 * 2. After each commit at least one run starts, and as many as `room()` allows. So a run that never ends, or has a long step,
 *    does not block the others.
 */
export class StartQueue {
  readonly #parts: StartQueueParts;
  #waiting: PendingStart[] = [];
  /** Runs started in this event-loop turn. Whether they have something to commit is known at its end. */
  #fresh = 0;
  /** Runs to start at the end of this turn even without room. */
  #startMin = 0;
  #isArmed = false;

  constructor(parts: StartQueueParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(start: PendingStart): void {
    this.#armTurnEnd();
    if (!this.isEmpty || this.#parts.room() <= this.#fresh) {
      this.#waiting.push(start);
      return;
    }
    this.#fresh += 1;
    this.#start(start);
  }

  /** A batch was committed. */
  onCommitted(): void {
    if (this.isEmpty) return;
    this.#startMin = 1;
    this.#armTurnEnd();
  }

  #armTurnEnd(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#parts.eventLoop.afterTurn(() => {
      this.#isArmed = false;
      this.#onTurnEnd();
    });
  }

  #onTurnEnd(): void {
    const room = this.#parts.room();
    const count = Math.max(this.#startMin, room);
    this.#fresh = 0;
    this.#startMin = 0;
    if (this.isEmpty) return;
    for (const start of this.#waiting.splice(0, count)) this.#start(start);
    if (this.isEmpty) this.#parts.onAllStarted();
    // The runs just started may commit nothing for a long time, so the next turn must start others.
    else if (room > 0) this.#armTurnEnd();
  }

  #start(start: PendingStart): void {
    this.#parts.start(start);
    start.slot.release();
  }
}

/** A run that a call creates for this worker, and the slot reserved for it. */
export interface PendingStart {
  readonly run: NewRun;
  readonly slot: Slot;
  /** True once the store has acknowledged the create. */
  isCreated: boolean;
}

/**
 * Runs that this process is creating, or that wait in the start queue. The reply to a create may be late: by then the run may have
 * been claimed, executed and lost. So a pending start is used only if nothing else about its run id was seen since: no claim, no
 * hint, no second start.
 */
export class PendingStarts {
  readonly #latest = new Map<string, PendingStart>();

  /** Call this before the create is sent. A second start of the same id replaces the first. */
  add(run: NewRun, slot: Slot): PendingStart {
    const start = { run, slot, isCreated: false };
    this.#latest.set(run.id, start);
    return start;
  }

  has(runId: string): boolean {
    return this.#latest.has(runId);
  }

  /**
   * Whether the run that the store lists as owned is the one that waits here to start, so it needs no load. False while the create is
   * not acknowledged: the reply may take long, and the run must not wait for it.
   */
  isWaiting(runId: string, epoch: number): boolean {
    return epoch === FIRST_EPOCH && this.#latest.get(runId)?.isCreated === true;
  }

  /** Ends a pending start, because the run starts or was not created. False if something else about the run was seen since. */
  end(start: PendingStart): boolean {
    const { id } = start.run;
    return this.#latest.get(id) === start && this.#latest.delete(id);
  }

  /** Something else about the run was seen: it must be loaded. */
  drop(runId: string): void {
    this.#latest.delete(runId);
  }

  /** The lease expired: any created run may have another owner now. */
  dropAll(): void {
    this.#latest.clear();
  }
}

/** The epoch of a run that had no other owner since it was created. */
export const FIRST_EPOCH = 1;

/** A run that this process has just created, as a load would return it. */
export function createdRun(start: NewRun): Loaded {
  const run: Run = {
    id: start.id,
    workflow: start.workflow,
    version: start.version,
    input: start.input,
    tags: start.tags,
    parent: start.parent,
    createdAt: start.createdAt,
    startId: start.startId,
    owner: start.owner,
    status: "running",
    epoch: FIRST_EPOCH,
    turn: 0,
    wakeAt: null,
    wait: null,
    inboxLast: 0,
    baseSeq: 0,
    generation: 0,
    claims: 0,
    claimSeq: 0,
    startedAt: start.createdAt,
    endedAt: null,
    undo: "none",
    outcome: null,
  };
  const { limits } = start;
  const created = limits === undefined ? run : { ...run, limits };
  return { run: created, snapshot: null, records: [], inbox: [] };
}
