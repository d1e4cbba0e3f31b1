import { PawlError } from "../model/errors.ts";
import type { AppendOp, Op, Outcomes, RunView } from "../model/op.ts";
import type { Transition } from "../model/transition.ts";
import type { Conclusion } from "../rules/conclude.ts";
import type { Committed } from "./committer.ts";
import type { OwnedView } from "./owned-runs.ts";

/** One that owns a run and gathers what is to be added to it until the next batch is taken. */
export interface AppendSource {
  readonly kind: "source";
  readonly runId: string;
  /** What has gathered since the last call; null if nothing has. */
  takeAppend(): AppendOp | null;
  /** The commit that holds what was taken is durable, or it was refused. */
  appended(outcome: Outcomes["append"]): void;
}

/** What waits for the next batch. */
export type QueueEntry =
  | {
      readonly kind: "op";
      readonly op: Op;
      readonly view: RunView | null;
      settle(conclusion: Conclusion): void;
      fail(error: Error): void;
    }
  | AppendSource;

/** An op whose transition is in a batch, and what the owner knew of its run when it was decided. */
export interface PendingOp {
  readonly entry: QueueEntry;
  readonly op: Op;
  readonly owned: OwnedView | null;
}

/** A batch on its way to the store, and what it was made of. */
export interface SentBatch {
  readonly ops: readonly PendingOp[];
  readonly batch: readonly Transition[];
  readonly result: Promise<Committed>;
}

/** The first of a queue, and the rest: at most so many, and of no run that is on its way already. */
export function takeFirst(
  queue: readonly QueueEntry[],
  max: number,
  onTheWay: readonly PendingOp[],
): { readonly entries: readonly QueueEntry[]; readonly rest: QueueEntry[] } {
  if (onTheWay.length === 0) return { entries: queue.slice(0, max), rest: queue.slice(max) };
  const runs = new Set<string>();
  for (const { entry } of onTheWay) if (entry.kind === "source") runs.add(entry.runId);
  const entries: QueueEntry[] = [];
  const rest: QueueEntry[] = [];
  for (const entry of queue) {
    const isFree = entry.kind === "op" || !runs.has(entry.runId);
    (isFree && entries.length < max ? entries : rest).push(entry);
  }
  return { entries, rest };
}

/** What was taken from a source, to be committed later. */
export function withTaken(source: AppendSource, op: AppendOp): AppendSource {
  return {
    kind: "source",
    runId: source.runId,
    takeAppend: () => op,
    appended: (outcome) => source.appended(outcome),
  };
}

/** Whether a transition is more than data. */
export function hasCode(transition: Transition): boolean {
  return transition.kind === "append" && transition.transaction !== null;
}

export function settle(entry: QueueEntry, conclusion: Conclusion): void {
  if (entry.kind === "op") entry.settle(conclusion);
  else if (conclusion.kind === "outcome") entry.appended(conclusion.outcome as Outcomes["append"]);
}

export function unavailable(op: Op, cause?: Error): PawlError {
  const what = "runId" in op ? `${op.kind} of run ${op.runId}` : op.kind;
  return new PawlError(
    "STORE_UNAVAILABLE",
    `the store did not answer: whether the ${what} happened is not known. Repeat it with the same id`,
    { cause },
  );
}

/**
 * Where callers wait to be let into a queue that has a bound, in the order in which they came. One who is let in has a place in the
 * queue, and takes it a moment later.
 */
export class QueueGate {
  readonly #max: number;
  readonly #waiters: Array<() => void> = [];
  /** Places that are kept for callers who are about to take them. */
  #places = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many are on their way into the queue. */
  get waiting(): number {
    return this.#places + this.#waiters.length;
  }

  /** Keeps a place for the caller: at once, which gives null, or when the promise resolves. */
  enter(queued: number): Promise<void> | null {
    if (queued + this.#places >= this.#max) return new Promise<void>((resolve) => this.#waiters.push(resolve));
    this.#places += 1;
    return null;
  }

  /** The caller has taken its place. */
  onTaken(): void {
    this.#places -= 1;
  }

  /** Lets in as many as there is room for beside those that are queued. */
  admit(queued: number): void {
    while (this.#waiters.length > 0 && queued + this.#places < this.#max) {
      this.#places += 1;
      this.#waiters.shift()?.();
    }
  }

  /** Nobody waits any more. */
  open(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
