import type { AppendOp, Op, Outcomes } from "../model/op.ts";
import type { Transition } from "../model/transition.ts";
import type { Conclusion } from "../rules/conclude.ts";
import type { CallerOp } from "./caller-op.ts";
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
export type QueueEntry = CallerOp | AppendSource;

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

/** Backpressure for a bounded queue: callers' ops wait in FIFO order while the queue is full. */
export class QueueGate {
  readonly #max: number;
  readonly #waiting = new Set<CallerOp>();

  constructor(max: number) {
    this.#max = max;
  }

  /** How many ops wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Adds the op to the queue. If that is full, the op waits until `admit` adds it. */
  enter(caller: CallerOp, queue: QueueEntry[]): void {
    if (queue.length < this.#max) queue.push(caller);
    else this.#waiting.add(caller);
  }

  /** Adds waiting ops to the queue while it has room. */
  admit(queue: QueueEntry[]): void {
    for (const caller of this.#waiting) {
      if (queue.length >= this.#max) return;
      this.#waiting.delete(caller);
      queue.push(caller);
    }
  }

  /** The op waits no more. */
  leave(caller: CallerOp): void {
    this.#waiting.delete(caller);
  }
}
