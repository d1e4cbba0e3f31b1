import type { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Payload } from "../model/run.ts";
import type { Command, Completion } from "../workflow/command.ts";
import type { Completed } from "./completions.ts";
import { divergedAtEnd, divergedAtRecord } from "./divergence.ts";
import type { JournalCursor } from "./journal-cursor.ts";
import type { OpenCommands } from "./open-commands.ts";

export interface Replay {
  readonly codec: Codec;
  readonly runId: string;
  readonly cursor: JournalCursor;
  /** What the program has asked for. */
  readonly open: OpenCommands;
  /** Whether the program has come to its end: what it had asked for before is not handed to it any more. */
  readonly over: boolean;
}

export type Replayed =
  | { readonly kind: "completed"; readonly completed: Completed; readonly payload: Payload }
  | { readonly kind: "diverged"; readonly error: PawlError }
  /** No record is left. */
  | { readonly kind: "done" };

/** Reads on to the next record that is handed to the program. Tries that failed are told to their steps on the way. */
export function replayNext({ codec, runId, cursor, open, over }: Replay): Replayed {
  for (let record = cursor.next; record !== null; record = cursor.next) {
    const command = open.byLocation.get(record.location);
    if (command === undefined || !fits(record, command)) {
      return {
        kind: "diverged",
        error: over ? divergedAtEnd(runId, record) : divergedAtRecord(runId, record, open.byLocation),
      };
    }
    cursor.advance();
    if (record.kind === "retry" && command.kind === "step") {
      command.attempts = record.attempts;
      command.retryAt = Number(record.detail);
    } else if (over) {
      open.close(command);
    } else {
      const { seq, at, payload } = record;
      return { kind: "completed", completed: { command, completion: completionOf(codec, record), seq, at }, payload };
    }
  }
  return { kind: "done" };
}

/** Whether a record can be about a command: it completes it, or tells of a try of it. */
function fits(record: JournalRecord, command: Command): boolean {
  return record.kind === command.record || (record.kind === "retry" && command.kind === "step");
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
