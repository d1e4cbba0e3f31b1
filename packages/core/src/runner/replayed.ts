import { type Failure, toError } from "../model/failure.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Command, Completion } from "../workflow/command.ts";

/** Whether a record can be about a command: it completes it, or tells of a try of it. */
export function fits(record: JournalRecord, command: Command): boolean {
  return record.kind === command.record || (record.kind === "retry" && command.kind === "step");
}

/** What a record gives to the program: the same as it gave when it was made. */
export function replayed(codec: Codec, record: JournalRecord): Completion {
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
