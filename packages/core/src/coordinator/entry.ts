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
export type Entry =
  | {
      readonly kind: "op";
      readonly op: Op;
      readonly view: RunView | null;
      settle(conclusion: Conclusion): void;
      fail(error: Error): void;
    }
  | AppendSource;

/** An op whose transition is in a batch, and what the owner knew of its run when it was decided. */
export interface Asked {
  readonly entry: Entry;
  readonly op: Op;
  readonly owned: OwnedView | null;
}

/** A batch on its way to the store, and what it was made of. */
export interface Sent {
  readonly asked: readonly Asked[];
  readonly batch: readonly Transition[];
  readonly result: Promise<Committed>;
}

/** The first of a queue, and the rest: at most so many, and of no run that is on its way already. */
export function takeFirst(
  queue: readonly Entry[],
  max: number,
  onTheWay: readonly Asked[],
): { readonly entries: readonly Entry[]; readonly rest: Entry[] } {
  if (onTheWay.length === 0) return { entries: queue.slice(0, max), rest: queue.slice(max) };
  const runs = new Set<string>();
  for (const { entry } of onTheWay) if (entry.kind === "source") runs.add(entry.runId);
  const entries: Entry[] = [];
  const rest: Entry[] = [];
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

export function settle(entry: Entry, conclusion: Conclusion): void {
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
