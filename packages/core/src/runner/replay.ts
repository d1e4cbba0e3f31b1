import { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import { type JournalRecord, leavesOpen, type RecordKind, type Stop, stopOf } from "../model/record.ts";
import type { Command, Completion } from "../workflow/command.ts";
import type { Completed } from "./completions.ts";
import type { JournalCursor } from "./journal-cursor.ts";
import { warningOf } from "./limits.ts";
import type { OpenCommandView } from "./open-commands.ts";
import { readPayload } from "./read-payload.ts";
import type { SessionState } from "./session-state.ts";
import { startedWorkflow } from "./started-child.ts";

/** The program requested something that its journal does not have. */
export interface Diverged {
  readonly kind: "diverged";
  readonly error: PawlError;
}

/** The journal records that the program was stopped here and compensated. */
interface Stopped {
  readonly kind: "stop";
  readonly stop: Stop;
}

/** Returns the completion of the next record if it is a successful step without rollback. Null if `replayNext` must decide. */
export function replayStep(cursor: JournalCursor, state: SessionState): Completed | null {
  const record = cursor.next;
  if (record === null || record.kind !== "step" || record.outcome !== "ok" || record.detail !== null) return null;
  const command = state.open.byLocation.get(record.location);
  if (command === undefined || command.kind !== "step" || command.record !== "step") return null;
  if ((command.rollback ?? null) !== null) return null;
  cursor.advance();
  state.loopRecords.note(record);
  state.completions.replayed(record.payload);
  const { payload, seq, at } = record;
  const completion: Completion = {
    outcome: "ok",
    value: readPayload(state.codec, payload, record.location),
    detail: null,
  };
  return { kind: "completed", command, completion, payload, seq, at };
}

/**
 * Returns the completion of the next record that the program receives, or null at the end of the journal. Records of failed attempts
 * are applied to their steps. A record that the program did not request is a divergence. `hasEnded`: the program has ended, and
 * completions of its commands are no longer delivered.
 */
export function replayNext(
  runId: string,
  cursor: JournalCursor,
  state: SessionState,
  hasEnded: boolean,
): Completed | Diverged | Stopped | null {
  const { open, completions, codec, loopRecords, undo, children } = state;
  for (let record = cursor.next; record !== null; record = cursor.next) {
    if (record.kind === "operator" || record.kind === "warning") {
      const warning = warningOf(record);
      if (warning !== null) state.limits?.markGiven(warning);
      cursor.advance();
      continue;
    }
    if (record.kind === "compensate") {
      cursor.advance();
      return { kind: "stop", stop: stopOf(record) };
    }
    const command = open.byLocation.get(record.location);
    if (command === undefined || !fits(codec, cursor, record, command)) {
      if (cursor.skipped.covers(record)) {
        loopRecords.note(record);
        undo.skipped(record);
        children.skipped(record, codec);
        cursor.advance();
        continue;
      }
      const error = hasEnded ? divergedAtEnd(runId, record) : divergedAtRecord(codec, runId, record, open.byLocation);
      return { kind: "diverged", error };
    }
    cursor.advance();
    loopRecords.note(record);
    completions.replayed(record.payload);
    if (record.kind === "started" && command.kind === "step") {
      undo.started(command, record.seq);
    } else if (record.kind === "retry" && command.kind === "step") {
      command.attempts = record.attempts;
      command.retryAt = Number(record.detail);
    } else {
      const { payload, seq, at } = record;
      const completion = completionOf(codec, record);
      const completed: Completed = { kind: "completed", command, completion, payload, seq, at };
      undo.add(completed);
      children.recorded(command, record.detail);
      if (!hasEnded) return completed;
      open.close(command);
    }
  }
  return null;
}

/**
 * Whether a record belongs to a command: it completes the command, with the same branches or the same target, or stores a failed attempt
 * of it. The targets in copied records may contain the id of the run that they were copied from.
 */
function fits(codec: Codec, { isCopied }: JournalCursor, record: JournalRecord, command: Command): boolean {
  if (record.kind !== command.record) return leavesOpen(record) && command.kind === "step";
  switch (record.kind) {
    case "join":
    case "race":
      return record.detail === detailOf(command);
    case "send":
    case "emit":
    case "spawn": {
      const target = isCopied || command.kind !== "post" ? null : targetOf(codec, record);
      return target === null || target === requestedTarget(command);
    }
    default:
      return true;
  }
}

/** The run that a message was sent to, the topic of an event, or the workflow of a child. Null if the record does not contain it. */
function targetOf(codec: Codec, record: JournalRecord): string | null {
  if (record.kind === "spawn") return startedWorkflow(codec.decode(record.payload));
  return record.kind === "send" || record.kind === "emit" ? record.detail : null;
}

function requestedTarget(command: Command): string | null {
  if (command.kind !== "post") return null;
  return command.post.kind === "start" ? command.post.run.workflow : command.detail;
}

const TARGETS: Readonly<Partial<Record<RecordKind, string>>> = { send: "send to", emit: "emit on", spawn: "spawn of" };

/** Describes a record or a command with its target. */
function describedTarget(kind: RecordKind, target: string | null): string | null {
  const text = TARGETS[kind];
  return text === undefined || target === null ? null : `${text} ${target}`;
}

/** Returns the completion that the program received when the record was made. */
function completionOf(codec: Codec, record: JournalRecord): Completion {
  const value = readPayload(codec, record.payload, record.location);
  switch (record.outcome) {
    case "ok":
      return { outcome: "ok", value, detail: record.detail };
    case "failed":
      return { outcome: "failed", error: toError(value as Failure), detail: record.detail };
    case "timedOut":
      return { outcome: "timedOut" };
  }
}

/** The number of open commands that a message lists. */
const REQUESTED_MAX = 5;

/** Where the code departs from its journal. */
export interface Divergence {
  readonly location: string;
  readonly seq: number;
  readonly recorded: string;
  readonly requested: string;
}

type Recorded = Pick<JournalRecord, "location" | "seq" | "kind" | "detail">;

const divergences = new WeakMap<PawlError, Divergence>();

/** Returns the divergence that an error reports. Null if it reports none. */
export function divergenceOf(error: PawlError): Divergence | null {
  return divergences.get(error) ?? null;
}

function divergedAtRecord(codec: Codec, runId: string, record: JournalRecord, open: OpenCommandView): PawlError {
  const there = open.get(record.location);
  const isSameKind = there?.record === record.kind;
  const target = isSameKind ? describedTarget(record.kind, requestedTarget(there)) : null;
  const recorded = target === null ? null : describedTarget(record.kind, targetOf(codec, record));
  const requested =
    there === undefined ? describeOpen(open) : recorded === null ? describe(there) : `${target} at ${there.location}`;
  return diverged(runId, record, requested, `the code requested ${requested}`, recorded);
}

function divergedAtEnd(runId: string, record: JournalRecord): PawlError {
  return diverged(runId, record, "its end", "the code ended without requesting it");
}

/** The code no longer has the rollback of a completed step that is to be compensated. */
export function divergedAtRollback(runId: string, step: Pick<JournalRecord, "location" | "seq">): PawlError {
  const record = { ...step, kind: "step", detail: null } as const;
  return diverged(runId, record, "no rollback", "the code has no rollback for it");
}

function diverged(
  runId: string,
  record: Recorded,
  requested: string,
  difference: string,
  withTarget: string | null = null,
): PawlError {
  const { location, seq } = record;
  const recorded = withTarget ?? described(record.kind, record.detail);
  const error = new PawlError(
    "HISTORY_DIVERGED",
    `run ${runId} diverged at ${location}: the journal has ${recorded} (record ${seq}), ${difference}; ` +
      "the run is paused; deploy compatible code and resume it",
  );
  divergences.set(error, { location, seq, recorded: `${recorded} at ${location}`, requested });
  return error;
}

export function describeOpen(open: OpenCommandView): string {
  if (open.size === 0) return "nothing";
  const some = [...open.values()].slice(0, REQUESTED_MAX).map(describe);
  return open.size > REQUESTED_MAX ? `${some.join(", ")} and ${open.size - REQUESTED_MAX} more` : some.join(", ");
}

export function describe(command: Command): string {
  return `${described(command.record, detailOf(command))} at ${command.location}`;
}

/** A join or a race is described with its branches. */
function described(kind: RecordKind, detail: string | null): string {
  return (kind === "join" || kind === "race") && detail !== null ? `${kind} of ${detail}` : kind;
}

/** Returns the detail that a command's record will have, if the command defines it. */
function detailOf(command: Command): string | null {
  return command.kind === "mark" || command.kind === "post" ? command.detail : null;
}
