import type { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import { type JournalRecord, type Stop, stopOf } from "../model/record.ts";
import type { Command, Completion } from "../workflow/command.ts";
import type { Completed } from "./completions.ts";
import type { Desk } from "./desk.ts";
import { detailOf, divergedAtEnd, divergedAtRecord } from "./divergence.ts";
import type { JournalCursor } from "./journal-cursor.ts";
import { warningOf } from "./look-at-limits.ts";

/** The program asks for what its journal does not hold. */
export interface Diverged {
  readonly kind: "diverged";
  readonly error: PawlError;
}

/** The journal holds that the program was stopped here, wherever the code would go on to. */
export interface Stopped {
  readonly kind: "stop";
  readonly stop: Stop;
}

/** The completion that the next record holds, if that is of a step that went well and leaves nothing to undo; null: `replayNext` is to look. */
export function replayStep(cursor: JournalCursor, desk: Desk): Completed | null {
  const record = cursor.next;
  if (record === null || record.kind !== "step" || record.outcome !== "ok" || record.detail !== null) return null;
  const command = desk.open.byLocation.get(record.location);
  if (command === undefined || command.kind !== "step" || command.record !== "step") return null;
  if ((command.rollback ?? null) !== null) return null;
  cursor.advance();
  desk.trail.note(record);
  desk.completions.replayed(record.payload);
  const { payload, seq, at } = record;
  const completion: Completion = { outcome: "ok", value: desk.codec.decode(payload), detail: null };
  return { kind: "completed", command, completion, payload, seq, at };
}

/**
 * Reads on to the next record that is handed to the program; null if there is none. Tries that failed are told to their steps
 * on the way. `over`: the program has come to its end, and what it had asked for is not handed to it any more. A record that
 * it did not ask for is a divergence. At the record that stops the program it stops.
 */
export function replayNext(
  runId: string,
  cursor: JournalCursor,
  desk: Desk,
  over: boolean,
): Completed | Diverged | Stopped | null {
  const { open, completions, codec, trail, undo } = desk;
  for (let record = cursor.next; record !== null; record = cursor.next) {
    if (record.kind === "operator" || record.kind === "warning") {
      const warning = warningOf(record);
      if (warning !== null) desk.limits?.given(warning);
      cursor.advance();
      continue;
    }
    if (record.kind === "compensate") {
      cursor.advance();
      return { kind: "stop", stop: stopOf(record) };
    }
    const command = open.byLocation.get(record.location);
    if (command === undefined || !fits(record, command)) {
      if (cursor.passedOver.covers(record)) {
        trail.note(record);
        undo.passed(record);
        cursor.advance();
        continue;
      }
      const error = over ? divergedAtEnd(runId, record) : divergedAtRecord(runId, record, open.byLocation);
      return { kind: "diverged", error };
    }
    cursor.advance();
    trail.note(record);
    completions.replayed(record.payload);
    if (record.kind === "retry" && command.kind === "step") {
      command.attempts = record.attempts;
      command.retryAt = Number(record.detail);
    } else {
      const { payload, seq, at } = record;
      const completion = completionOf(codec, record);
      const completed: Completed = { kind: "completed", command, completion, payload, seq, at };
      undo.note(completed);
      if (!over) return completed;
      open.close(command);
    }
  }
  return null;
}

/** Whether a record can be about a command: it completes it, with the same branches, or tells of a try of it. */
function fits(record: JournalRecord, command: Command): boolean {
  if (record.kind !== command.record) return record.kind === "retry" && command.kind === "step";
  return (record.kind !== "join" && record.kind !== "race") || record.detail === detailOf(command);
}

/** What a record gives to the program: the same as it gave when it was made. */
function completionOf(codec: Codec, record: JournalRecord): Completion {
  const value = codec.decode(record.payload);
  switch (record.outcome) {
    case "ok":
      return { outcome: "ok", value, detail: record.detail };
    case "failed":
      return { outcome: "failed", error: toError(value as Failure), detail: record.detail };
    case "timedOut":
      return { outcome: "timedOut" };
  }
}
