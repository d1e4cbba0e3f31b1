import { type Failure, toError } from "../model/failure.ts";
import type { InboxEntry } from "../model/inbox.ts";
import type { Codec } from "../model/payload.ts";
import { type Outcome, UNDOABLE } from "../model/record.ts";
import { rollbackFailures } from "../model/rollback-failure.ts";
import type { Payload } from "../model/run.ts";
import type { Arm, Completion, WaitCommand } from "../workflow/command.ts";

export interface ReceivedCompletion {
  readonly outcome: Outcome;
  readonly payload: Payload;
  readonly completion: Completion;
  readonly detail: string | null;
  /** A child has completed that has something to undo. */
  readonly undoable?: boolean;
}

/** How the inbox entries that end a wait become its record and its completion. */
export function received(codec: Codec, wait: WaitCommand, entries: readonly InboxEntry[]): ReceivedCompletion {
  const first = entries[0];
  if (first?.kind === "child") return childEnded(codec, wait, first);
  const items = entries.map((entry) => itemOf(codec, wait, entry));
  const value = wait.many ? items : items[0];
  const detail = first === undefined ? null : armOf(wait, first);
  const payload = codec.encode(value, `what ${wait.location} received`);
  return { outcome: "ok", payload, completion: { outcome: "ok", value, detail }, detail };
}

/** The record of a select has to say what it was that came: its detail says only which arm won. */
function itemOf(codec: Codec, wait: WaitCommand, entry: InboxEntry): object {
  const item = { value: codec.decode(entry.value), id: entry.id, sentAt: entry.at };
  return wait.record === "select" ? { ...item, kind: entry.kind, name: entry.name } : item;
}

function childEnded(codec: Codec, wait: WaitCommand, entry: InboxEntry): ReceivedCompletion {
  const undoable = entry.status === "undoable";
  const detail = undoable && wait.record === "child" ? UNDOABLE : armOf(wait, entry);
  if (undoable || entry.status === "completed") {
    const value = codec.decode(entry.value);
    return { outcome: "ok", payload: entry.value, completion: { outcome: "ok", value, detail }, detail, undoable };
  }
  if (wait.record === "rollback" && isUndone(codec, entry)) return ROLLED_BACK;
  const cause = entry.value === null ? null : (codec.decode(entry.value) as Failure);
  const failure: Failure = {
    name: "ChildWorkflowFailed",
    code: "CHILD_FAILED",
    message: `the child at ${entry.name} ${entry.status === "cancelled" ? "was cancelled" : "failed"}${cause === null ? "" : `: ${cause.message}`}`,
    ...(cause === null ? {} : { cause }),
  };
  const payload = codec.encode(failure, `failure of the child at ${entry.name}`);
  return { outcome: "failed", payload, completion: { outcome: "failed", error: toError(failure), detail }, detail };
}

const ROLLED_BACK: ReceivedCompletion = {
  outcome: "ok",
  payload: null,
  completion: { outcome: "ok", value: undefined, detail: null },
  detail: null,
};

/** A run that undoes a child ends as cancelled; it tells of what it could not undo. */
function isUndone(codec: Codec, { status, value }: InboxEntry): boolean {
  if (status !== "cancelled") return false;
  return value === null || rollbackFailures(toError(codec.decode(value) as Failure)).length === 0;
}

function armOf(wait: WaitCommand, entry: InboxEntry): string | null {
  return wait.arms.find((arm) => arm.kind === entry.kind && armName(arm) === entry.name)?.as ?? null;
}

function armName(arm: Arm): string {
  switch (arm.kind) {
    case "message":
      return arm.name;
    case "event":
      return arm.topic;
    case "child":
      return arm.location;
  }
}
