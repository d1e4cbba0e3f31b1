import type { NewRun } from "../model/run.ts";
import type { EventLoop } from "../runtime/event-loop.ts";
import type { Loaded } from "../store/store.ts";
import type { Slot } from "./session-pool.ts";

export interface StartQueueParts {
  /** How many more runs the store has time for: none or less, where those that are under way keep it busy. */
  readonly room: () => number;
  readonly eventLoop: Pick<EventLoop, "afterTurn">;
  readonly start: (beginning: PendingStart) => void;
  /** None waits any more. */
  readonly onAllStarted: () => void;
}

/**
 * Runs that were created here, on their way to their sessions.
 *
 * 1. While enough runs are under way to keep the store busy, those that were created after them wait, first come first served: of many
 *    that are started at once the first end when they would else be half done, and the last end no later.
 * 2. One at least begins after each commit, and as many as there is room for: runs that never come to an end, or whose bodies take
 *    long, keep none from beginning.
 */
export class StartQueue {
  readonly #parts: StartQueueParts;
  #waiting: PendingStart[] = [];
  /** How many have begun in this turn: whether they have something to commit is known at its end. */
  #fresh = 0;
  /** How many begin at the end of this turn, whatever room there is. */
  #startMin = 0;
  #isArmed = false;

  constructor(parts: StartQueueParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(beginning: PendingStart): void {
    this.#armTurnEnd();
    if (!this.isEmpty || this.#parts.room() <= this.#fresh) {
      this.#waiting.push(beginning);
      return;
    }
    this.#fresh += 1;
    this.#start(beginning);
  }

  /** There was a commit. */
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
    for (const beginning of this.#waiting.splice(0, count)) this.#start(beginning);
    if (this.isEmpty) this.#parts.onAllStarted();
    // Those that have begun now may have nothing to commit for long; if they have, there is a commit to come.
    else if (room > 0) this.#armTurnEnd();
  }

  #start(beginning: PendingStart): void {
    this.#parts.start(beginning);
    beginning.slot.release();
  }
}

/** A run that a call creates for this worker, and the slot that is kept for it. */
export interface PendingStart {
  readonly run: NewRun;
  readonly slot: Slot;
  /** Whether it is there, and has yet to begin. */
  isCreated: boolean;
}

/**
 * Runs that are being created for this worker, or have yet to begin here. The answer may be late: by then the run may have been found
 * among what the worker holds, worked on and lost. So what is known of it here counts only if there was no sign of it since it was asked
 * for; another call that asks for a run of the same id is one.
 */
export class PendingStarts {
  readonly #latest = new Map<string, PendingStart>();

  /** It is about to be created. */
  add(run: NewRun, slot: Slot): PendingStart {
    const beginning = { run, slot, isCreated: false };
    this.#latest.set(run.id, beginning);
    return beginning;
  }

  has(runId: string): boolean {
    return this.#latest.has(runId);
  }

  /**
   * Whether what this worker holds of the run is what waits here to begin: that is no sign of anything else. One whose creation is not
   * answered is to be taken up: the answer may be long in coming.
   */
  isWaiting(runId: string, epoch: number): boolean {
    return epoch === FIRST_EPOCH && this.#latest.get(runId)?.isCreated === true;
  }

  /** It begins, or is not created. False: there was a sign of it since it was asked for. */
  end(beginning: PendingStart): boolean {
    const { id } = beginning.run;
    return this.#latest.get(id) === beginning && this.#latest.delete(id);
  }

  /** There is a sign of it. */
  drop(runId: string): void {
    this.#latest.delete(runId);
  }

  /** Whatever was created may have been taken away since. */
  dropAll(): void {
    this.#latest.clear();
  }
}

/** Of a run that nobody has taken over since it was created. */
export const FIRST_EPOCH = 1;

/** A run that was created a moment ago, by this process: nothing of it needs to be read. */
export function createdRun(run: NewRun): Loaded {
  return {
    run: {
      id: run.id,
      workflow: run.workflow,
      version: run.version,
      input: run.input,
      tags: run.tags,
      parent: run.parent,
      createdAt: run.createdAt,
      startId: run.startId,
      owner: run.owner,
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
      startedAt: run.createdAt,
      endedAt: null,
      undo: "none",
      outcome: null,
    },
    snapshot: null,
    records: [],
    inbox: [],
  };
}
