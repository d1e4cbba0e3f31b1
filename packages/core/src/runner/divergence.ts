import { PawlError } from "../model/errors.ts";
import type { JournalRecord, RecordKind } from "../model/record.ts";
import type { Command } from "../workflow/command.ts";
import type { Asked } from "./by-location.ts";

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
export function divergedAtRecord(runId: string, record: JournalRecord, open: Asked): PawlError {
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

export function describeOpen(open: Asked): string {
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
