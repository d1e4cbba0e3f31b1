import type { JournalRecord, NewRecord } from "./record.ts";
import type { Payload } from "./run.ts";

/**
 * The kinds of operator actions. `origin` is the first record of a run whose history was copied from another run, and contains that
 * run's id.
 */
export type OperatorActionKind = "rewind" | "retry" | "fork" | "migrate" | "origin";

/** An operator action, as stored in its record. */
export interface OperatorAction {
  /** Identifies the call. The same call again gets the same answer. */
  readonly id: string;
  readonly by: string | null;
  readonly why: string | null;
  /** The record, version or run that the call named. */
  readonly target: string;
}

/** Names are escaped, so no command has this location. */
const ACTION_LOCATION = "~";

/** Returns the record of an action. Its detail is the kind, so a replay does not decode its payload. */
export function operatorRecord(
  kind: OperatorActionKind,
  payload: Payload,
  times: { readonly startedAt: number; readonly at: number },
): NewRecord {
  return { location: ACTION_LOCATION, kind: "operator", outcome: "ok", payload, attempts: 0, ...times, detail: kind };
}

/** Returns the kind of action that a record stores. Null if the record stores no action. */
export function operatorActionOf({ kind, detail }: Pick<JournalRecord, "kind" | "detail">): OperatorActionKind | null {
  return kind === "operator" ? (detail as OperatorActionKind) : null;
}

/**
 * Whether the program may behave differently after the action. Children and posts after it get new ids, and the program's time is the
 * time of the action.
 */
export function changesCourse(kind: OperatorActionKind): boolean {
  return kind === "rewind" || kind === "retry" || kind === "fork";
}
