import { type Failure, toError } from "../model/failure.ts";
import type { InboxEntry } from "../model/inbox.ts";
import { type Codec, isUnreadable } from "../model/payload.ts";
import { UNDOABLE } from "../model/record.ts";
import { rollbackFailures } from "../model/rollback-failure.ts";
import type { Arm, WaitCommand } from "../workflow/command.ts";
import type { CommandEnd } from "./completions.ts";
import { unreadableAt } from "./read-payload.ts";

/** Converts the inbox entries that end a wait to its record and its completion. Throws if an entry cannot be read. */
export function completionOfWait(codec: Codec, wait: WaitCommand, entries: readonly InboxEntry[]): CommandEnd {
  try {
    return received(codec, wait, entries);
  } catch (error) {
    throw isUnreadable(error) ? unreadableAt(wait.location, error) : error;
  }
}

function received(codec: Codec, wait: WaitCommand, entries: readonly InboxEntry[]): CommandEnd {
  const first = entries[0];
  if (first?.kind === "child") return childEnded(codec, wait, first);
  const what = `value of ${wait.location}`;
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

/** The record of a select also stores the kind and name of the entry: its detail is only the key of the arm. */
function factsOf(wait: WaitCommand, { id, at, kind, name }: InboxEntry): Readonly<Record<string, string | number>> {
  return wait.record === "select" ? { id, sentAt: at, kind, name } : { id, sentAt: at };
}

function childEnded(codec: Codec, wait: WaitCommand, entry: InboxEntry): CommandEnd {
  const undoable = entry.status === "undoable";
  const detail = undoable && wait.record === "child" ? UNDOABLE : armOf(wait, entry);
  if (undoable || entry.status === "completed") {
    const value = codec.decode(entry.value);
    return { outcome: "ok", payload: entry.value, completion: { outcome: "ok", value, detail }, detail, undoable };
  }
  if (wait.record === "rollback" && isCompensated(codec, entry)) return ROLLED_BACK;
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

const ROLLED_BACK: CommandEnd = {
  outcome: "ok",
  payload: null,
  completion: { outcome: "ok", value: undefined, detail: null },
  detail: null,
};

/** A run that compensates a child ends as cancelled. Failed rollbacks are in its outcome. */
function isCompensated(codec: Codec, { status, value }: InboxEntry): boolean {
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
