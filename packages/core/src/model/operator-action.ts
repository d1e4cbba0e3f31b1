import type { JournalRecord, NewRecord } from "./record.ts";
import type { Payload } from "./run.ts";

/**
 * What somebody did to a run's history from outside. `origin` begins the journal of a run that has its history from another
 * run: it says whose.
 */
export type OperatorActionKind = "rewind" | "retry" | "fork" | "migrate" | "origin";

/** An act, as its record tells it. */
export interface OperatorAction {
  /** Says which call it was: the same call again is answered as before. */
  readonly id: string;
  readonly by: string | null;
  readonly why: string | null;
  /** What it was done to: the record, version or run that the call named. */
  readonly target: string;
}

/** Names are escaped, so no command has this location. */
const ACT_LOCATION = "~";

/** The record of an act. Its detail is the kind, so that a replay needs not read its payload. */
export function operatorRecord(
  kind: OperatorActionKind,
  payload: Payload,
  times: { readonly startedAt: number; readonly at: number },
): NewRecord {
  return { location: ACT_LOCATION, kind: "operator", outcome: "ok", payload, attempts: 0, ...times, detail: kind };
}

/** The kind of act that a record tells of; null: it tells of something else. */
export function operatorActionOf({ kind, detail }: Pick<JournalRecord, "kind" | "detail">): OperatorActionKind | null {
  return kind === "operator" ? (detail as OperatorActionKind) : null;
}

/**
 * Whether the program goes other ways from the act on: what it asks for then is not what it asked for before, and its time is
 * the act's.
 */
export function changesCourse(kind: OperatorActionKind): boolean {
  return kind === "rewind" || kind === "retry" || kind === "fork";
}
