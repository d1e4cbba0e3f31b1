import type { Payload } from "./run.ts";

/**
 * What a record tells. Two kinds complete nothing: after a `retry` the step at its location is open still, and tries again at
 * the time in its detail; an `operator` record says what somebody did to the run from outside, and replay passes over it.
 */
export type RecordKind =
  | "step"
  | "transaction"
  | "retry"
  | "sleep"
  | "listen"
  | "event"
  | "select"
  | "child"
  | "spawn"
  /** A child was asked to cancel itself, because its branch has lost a race. */
  | "cancel"
  | "send"
  | "emit"
  /** The program is stopped here, and what it has done is undone; the payload says why, the detail how the run ends. */
  | "compensate"
  /** A step was undone: its location is the step's, with `~rollback` under it. */
  | "rollback"
  /** What came before it is not undone any more. */
  | "checkpoint"
  | "operator"
  /** So much of a limit of the run is used up; replay passes over it. */
  | "warning"
  /** Branches that run side by side have begun; the detail names them. */
  | "join"
  | "race"
  /** The state of a loop before a round, or what the loop gave at its end; the detail says where a replay begins. */
  | "loop"
  /** Which version of a place in its code a run goes by. */
  | "version";

/** How a command ended. A timeout is its own outcome: no payload can be mistaken for it. */
export type Outcome = "ok" | "failed" | "timedOut";

/** A record that gets its seq where it is stored. */
export type NewRecord = Omit<JournalRecord, "seq">;

/** Records by their seq, both ends included. */
export interface SeqRange {
  readonly from: number;
  readonly to: number;
}

/** One line of a run's journal. */
export interface JournalRecord {
  /** 1, 2, 3 … per run; a gap is what a loop has dropped. */
  readonly seq: number;
  readonly location: string;
  readonly kind: RecordKind;
  readonly outcome: Outcome;
  /** The value when `ok`, the failure when `failed`. */
  readonly payload: Payload;
  /** How many times a step body was tried; 0 for what has no body. */
  readonly attempts: number;
  readonly startedAt: number;
  /** When it completed, by the store's clock; never smaller than the record before it. */
  readonly at: number;
  /** What else a reader needs, by kind: the arm that won, the time of the next try, the child's id. */
  readonly detail: string | null;
}

/** Records in the order of their seq, for who goes through them: an array, or something that makes each when it is asked for. */
export interface Records extends Iterable<JournalRecord> {
  readonly length: number;
  /** Counted from the end, if negative. */
  at(index: number): JournalRecord | undefined;
}

/** The detail of the record of a step that can be undone. */
export const UNDOABLE = "rollback";

/** Why a program is stopped, and how its run ends when what it did is undone. */
export interface Stop {
  readonly end: "failed" | "cancelled";
  readonly reason: Payload;
}

/** Where the record lies that says that a run is compensating: no name has such a segment. */
export const COMPENSATE_LOCATION = "~compensate";

/** The record that stops a program: what it has done is undone, then its run ends so. */
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

/** How a run ends whose program such a record stops. */
export function stopOf(record: JournalRecord | null): Stop {
  return { end: record?.detail === "cancelled" ? "cancelled" : "failed", reason: record?.payload ?? null };
}
