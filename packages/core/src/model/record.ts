import type { Payload } from "./run.ts";

/**
 * The kind of command that a record completes. `started`, `retry` and `operator` complete no command: after a `retry` the step stays open,
 * and its next attempt starts at the time in `detail`; an `operator` record stores an operator action, and replay skips it.
 */
export const RECORD_KINDS = [
  "step",
  "transaction",
  /** The body of a step may have started. Written only for a step whose rollback undoes unfinished bodies too. */
  "started",
  "retry",
  "sleep",
  "listen",
  "event",
  "select",
  "child",
  "spawn",
  /** A child was requested to cancel, because its branch lost a race. */
  "cancel",
  "send",
  "emit",
  /** The program stops here and its steps are rolled back. The payload is the reason; the detail is the final status. */
  "compensate",
  /** A step was rolled back. The location is the step's, followed by `~rollback`. */
  "rollback",
  /** Earlier steps are no longer rolled back. */
  "checkpoint",
  "operator",
  /** A run has reached 50 % or 80 % of a limit. Replay skips it. */
  "warning",
  /** Parallel branches have started. The detail contains their names. */
  "join",
  "race",
  /** The state of a loop before an iteration, or the loop's result. The detail contains the iteration at which a replay starts. */
  "loop",
  /** The version that `ctx.getVersion` returns to this run. */
  "version",
] as const;

export type RecordKind = (typeof RECORD_KINDS)[number];

/** How a command ended. A timeout is a separate outcome, so no payload can be mistaken for it. */
export type Outcome = "ok" | "failed" | "timedOut";

/** A record whose seq is assigned when it is stored. */
export type NewRecord = Omit<JournalRecord, "seq">;

/** A range of seqs, both ends included. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/** A record of a run's journal. */
export interface JournalRecord {
  /** 1, 2, 3 … per run. A loop leaves a gap where it removed records. */
  readonly seq: number;
  readonly location: string;
  readonly kind: RecordKind;
  readonly outcome: Outcome;
  /** The value if `ok`, the failure if `failed`. */
  readonly payload: Payload;
  /** The number of attempts of the step body. 0 for other commands. */
  readonly attempts: number;
  readonly startedAt: number;
  /** Completion time on the store's clock. Never less than that of the previous record. */
  readonly at: number;
  /** Further data by kind: the arm that won, the time of the next attempt, the child's id. */
  readonly detail: string | null;
}

/** Records in order of their seq: an array, or a source that creates each record on access. */
export interface Records extends Iterable<JournalRecord> {
  readonly length: number;
  /** A negative index counts from the end. */
  at(index: number): JournalRecord | undefined;
}

/** Whether a record belongs to a step and leaves it open. */
export function leavesOpen({ kind }: Pick<JournalRecord, "kind">): boolean {
  return kind === "retry" || kind === "started";
}

/** The detail of a step's record if the step has a rollback. */
export const UNDOABLE = "rollback";

/** Why a program stops, and the final status of its run after the rollbacks. */
export interface Stop {
  readonly end: "failed" | "cancelled";
  readonly reason: Payload;
}

/** The location of a `compensate` record. No name is escaped to such a segment. */
export const COMPENSATE_LOCATION = "~compensate";

/** Returns the record that stops a program, before its steps are rolled back. */
export function compensateRecord(seq: number, { end, reason }: Stop, at: number): JournalRecord {
  return {
    seq,
    location: COMPENSATE_LOCATION,
    kind: "compensate",
    outcome: "failed",
    payload: reason,
    attempts: 0,
    startedAt: at,
    at,
    detail: end,
  };
}

/** Returns the reason and the final status that a `compensate` record contains. */
export function stopOf(record: JournalRecord | null): Stop {
  return { end: record?.detail === "cancelled" ? "cancelled" : "failed", reason: record?.payload ?? null };
}
