import { PawlError } from "../model/errors.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Command } from "../workflow/command.ts";

/** How many open commands a message lists before it counts the rest. */
const ASKED_MAX = 5;

/** The journal's next record is not what the code asks for. */
export function divergedAtRecord(runId: string, record: JournalRecord, open: ReadonlyMap<string, Command>): PawlError {
  const there = open.get(record.location);
  const asked = there === undefined ? describeOpen(open) : `${there.record} at ${there.location}`;
  return diverged(runId, record, `the code asks for ${asked}`);
}

/** The code has come to its end, and the journal holds a record that it never asked for. */
export function divergedAtEnd(runId: string, record: JournalRecord): PawlError {
  return diverged(runId, record, "the code came to its end without asking for it");
}

function diverged(runId: string, record: JournalRecord, asked: string): PawlError {
  return new PawlError(
    "HISTORY_DIVERGED",
    `run ${runId}: at ${record.location} the journal holds ${record.kind} (record ${record.seq}), but ${asked}. ` +
      "The run is paused and its journal unharmed: deploy code that fits it, then resume the run",
  );
}

function describeOpen(open: ReadonlyMap<string, Command>): string {
  if (open.size === 0) return "nothing";
  const some = [...open.values()].slice(0, ASKED_MAX).map((command) => `${command.record} at ${command.location}`);
  return open.size > ASKED_MAX ? `${some.join(", ")} and ${open.size - ASKED_MAX} more` : some.join(", ");
}
