import { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import { type JournalRecord, type RecordKind, type Stop, stopOf } from "../model/record.ts";
import type { Command, Completion } from "../workflow/command.ts";
import { warningOf } from "./check-limits.ts";
import type { Completed } from "./completions.ts";
import type { JournalCursor } from "./journal-cursor.ts";
import type { OpenCommandView } from "./open-commands.ts";
import type { SessionState } from "./session-state.ts";

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
export function replayStep(cursor: JournalCursor, session: SessionState): Completed | null {
  const record = cursor.next;
  if (record === null || record.kind !== "step" || record.outcome !== "ok" || record.detail !== null) return null;
  const command = session.open.byLocation.get(record.location);
  if (command === undefined || command.kind !== "step" || command.record !== "step") return null;
  if ((command.rollback ?? null) !== null) return null;
  cursor.advance();
  session.loopRecords.note(record);
  session.completions.replayed(record.payload);
  const { payload, seq, at } = record;
  const completion: Completion = { outcome: "ok", value: session.codec.decode(payload), detail: null };
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
  session: SessionState,
  over: boolean,
): Completed | Diverged | Stopped | null {
  const { open, completions, codec, loopRecords, undo } = session;
  for (let record = cursor.next; record !== null; record = cursor.next) {
    if (record.kind === "operator" || record.kind === "warning") {
      const warning = warningOf(record);
      if (warning !== null) session.limits?.given(warning);
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
        loopRecords.note(record);
        undo.passed(record);
        cursor.advance();
        continue;
      }
      const error = over ? divergedAtEnd(runId, record) : divergedAtRecord(runId, record, open.byLocation);
      return { kind: "diverged", error };
    }
    cursor.advance();
    loopRecords.note(record);
    completions.replayed(record.payload);
    if (record.kind === "retry" && command.kind === "step") {
      command.attempts = record.attempts;
      command.retryAt = Number(record.detail);
    } else {
      const { payload, seq, at } = record;
      const completion = completionOf(codec, record);
      const completed: Completed = { kind: "completed", command, completion, payload, seq, at };
      undo.add(completed);
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

/** How many open commands a message lists before it counts the rest. */
const ASKED_MAX = 5;

/** Where a journal and the code that it is fed to part. */
export interface Divergence {
  readonly location: string;
  readonly seq: number;
  readonly recorded: string;
  readonly asked: string;
}

type Recorded = Pick<JournalRecord, "location" | "seq" | "kind" | "detail">;

/** By the errors that tell of them. */
const divergences = new WeakMap<PawlError, Divergence>();

/** What an error tells of, if it tells of a divergence. */
export function divergenceOf(error: PawlError): Divergence | null {
  return divergences.get(error) ?? null;
}

/** The journal's next record is not what the code asks for. */
export function divergedAtRecord(runId: string, record: JournalRecord, open: OpenCommandView): PawlError {
  const there = open.get(record.location);
  const asked = there === undefined ? describeOpen(open) : describe(there);
  return diverged(runId, record, asked, `the code asks for ${asked}`);
}

/** The code has come to its end, and the journal holds a record that it never asked for. */
export function divergedAtEnd(runId: string, record: JournalRecord): PawlError {
  return diverged(runId, record, "its end", "the code came to its end without asking for it");
}

/** A step that was done with a rollback has to be undone, and the code has none for it. */
export function divergedAtRollback(runId: string, step: Pick<JournalRecord, "location" | "seq">): PawlError {
  const record = { ...step, kind: "step", detail: null } as const;
  return diverged(runId, record, "no rollback", "that has a rollback, and the code has none for it");
}

function diverged(runId: string, record: Recorded, asked: string, saying: string): PawlError {
  const { location, seq } = record;
  const recorded = described(record.kind, record.detail);
  const error = new PawlError(
    "HISTORY_DIVERGED",
    `run ${runId}: at ${location} the journal holds ${recorded} (record ${seq}), but ${saying}. ` +
      "The run is paused and its journal unharmed: deploy code that fits it, then resume the run",
  );
  divergences.set(error, { location, seq, recorded: `${recorded} at ${location}`, asked });
  return error;
}

export function describeOpen(open: OpenCommandView): string {
  if (open.size === 0) return "nothing";
  const some = [...open.values()].slice(0, ASKED_MAX).map(describe);
  return open.size > ASKED_MAX ? `${some.join(", ")} and ${open.size - ASKED_MAX} more` : some.join(", ");
}

export function describe(command: Command): string {
  return `${described(command.record, detailOf(command))} at ${command.location}`;
}

/** Branches belong to what a join or race is; other details do not. */
function described(kind: RecordKind, detail: string | null): string {
  return (kind === "join" || kind === "race") && detail !== null ? `${kind} of ${detail}` : kind;
}

/** What a command's record will have as its detail, where the command itself says so. */
export function detailOf(command: Command): string | null {
  return command.kind === "mark" || command.kind === "post" ? command.detail : null;
}
