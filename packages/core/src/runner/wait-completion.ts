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
export function completionOfWait(codec: Codec, wait: WaitCommand, entries: readonly InboxEntry[]): ReceivedCompletion {
  const first = entries[0];
  if (first?.kind === "child") return childEnded(codec, wait, first);
  const what = `what ${wait.location} received`;
  const detail = first === undefined ? null : armOf(wait, first);
  if (first !== undefined && !wait.many) {
    const facts = factsOf(wait, first);
    const value = { value: codec.decode(first.value), ...facts };
    const payload = codec.encodeWith(first.value, facts, what);
    return { outcome: "ok", payload, completion: { outcome: "ok", value, detail }, detail };
  }
  const value = entries.map((entry) => ({ value: codec.decode(entry.value), ...factsOf(wait, entry) }));
  return { outcome: "ok", payload: codec.encode(value, what), completion: { outcome: "ok", value, detail }, detail };
}

/** The record of a select has to say what it was that came: its detail says only which arm won. */
function factsOf(wait: WaitCommand, { id, at, kind, name }: InboxEntry): Readonly<Record<string, string | number>> {
  return wait.record === "select" ? { id, sentAt: at, kind, name } : { id, sentAt: at };
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
