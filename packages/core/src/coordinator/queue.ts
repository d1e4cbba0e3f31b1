import { PawlError } from "../model/errors.ts";
import type { AppendOp, Op, Outcomes, RunView } from "../model/op.ts";
import type { Transition } from "../model/transition.ts";
import type { Conclusion } from "../rules/conclude.ts";
import type { Committed } from "./committer.ts";
import type { OwnedView } from "./owned-runs.ts";

/** The owner of a run. It collects records and other changes until the coordinator takes the next batch. */
export interface AppendSource {
  readonly kind: "source";
  readonly runId: string;
  /** Returns everything collected since the last call. Null if there is nothing. */
  takeAppend(): AppendOp | null;
  /** Called when the taken append is durable or was refused. */
  appended(outcome: Outcomes["append"]): void;
}

/** Waits in the queue for the next batch. */
export type QueueEntry =
  | {
      readonly kind: "op";
      readonly op: Op;
      readonly view: RunView | null;
      settle(conclusion: Conclusion): void;
      fail(error: Error): void;
    }
  | AppendSource;

/** An op whose transition is in a batch, with the owner's view of the run that it was decided on. */
export interface PendingOp {
  readonly entry: QueueEntry;
  readonly op: Op;
  readonly owned: OwnedView | null;
}

/** A batch in flight, with the ops that its transitions came from. */
export interface SentBatch {
  readonly ops: readonly PendingOp[];
  readonly batch: readonly Transition[];
  readonly result: Promise<Committed>;
}

/** Splits a queue: the first `max` entries, without sources of runs that are in flight, and the rest. */
export function takeFirst(
  queue: readonly QueueEntry[],
  max: number,
  inFlight: readonly PendingOp[],
): { readonly entries: readonly QueueEntry[]; readonly rest: QueueEntry[] } {
  if (inFlight.length === 0) return { entries: queue.slice(0, max), rest: queue.slice(max) };
  const runs = new Set<string>();
  for (const { entry } of inFlight) if (entry.kind === "source") runs.add(entry.runId);
  const entries: QueueEntry[] = [];
  const rest: QueueEntry[] = [];
  for (const entry of queue) {
    const isFree = entry.kind === "op" || !runs.has(entry.runId);
    (isFree && entries.length < max ? entries : rest).push(entry);
  }
  return { entries, rest };
}

/** A source that returns an append which was taken from `source` before and deferred. */
export function withTaken(source: AppendSource, op: AppendOp): AppendSource {
  return {
    kind: "source",
    runId: source.runId,
    takeAppend: () => op,
    appended: (outcome) => source.appended(outcome),
  };
}

/** Whether a transition contains user code: the body of a `ctx.transaction`. */
export function hasCode(transition: Transition): boolean {
  return transition.kind === "append" && transition.transaction !== null;
}

export function settle(entry: QueueEntry, conclusion: Conclusion): void {
  if (entry.kind === "op") entry.settle(conclusion);
  else if (conclusion.kind === "outcome") entry.appended(conclusion.outcome as Outcomes["append"]);
}

export function tooLarge(op: Op, bytes: number): PawlError {
  const what = "runId" in op ? `${op.kind} of run ${op.runId}` : op.kind;
  return new PawlError(
    "PAYLOAD_TOO_LARGE",
    `${what} has ${bytes} bytes, more than one commit can hold; nothing changed`,
  );
}

export function unavailable(op: Op, cause?: Error): PawlError {
  const what = "runId" in op ? `${op.kind} of run ${op.runId}` : op.kind;
  return new PawlError(
    "STORE_UNAVAILABLE",
    `the store did not answer, so the ${what} may or may not have been applied; repeat it with the same id`,
    { cause },
  );
}

/**
 * Backpressure for a bounded queue: callers wait in FIFO order while the queue is full. An admitted caller has a reserved place, which it
 * takes when its promise continuation runs.
 */
export class QueueGate {
  readonly #max: number;
  readonly #waiters: Array<() => void> = [];
  /** Places reserved for admitted callers that have not queued their op yet. */
  #reserved = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many callers have not queued their op yet. */
  get waiting(): number {
    return this.#reserved + this.#waiters.length;
  }

  /** Reserves a place. Returns null if that succeeds at once, otherwise a promise that resolves when the place is reserved. */
  enter(queued: number): Promise<void> | null {
    if (queued + this.#reserved >= this.#max) return new Promise<void>((resolve) => this.#waiters.push(resolve));
    this.#reserved += 1;
    return null;
  }

  /** An admitted caller has queued its op. */
  onTaken(): void {
    this.#reserved -= 1;
  }

  /** Admits waiting callers while there is room beside the `queued` entries. */
  admit(queued: number): void {
    while (this.#waiters.length > 0 && queued + this.#reserved < this.#max) {
      this.#reserved += 1;
      this.#waiters.shift()?.();
    }
  }

  /** Admits every waiting caller, without a reserved place. Called when the coordinator has stopped. */
  open(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
