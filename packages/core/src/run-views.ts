import { type Failure, toError } from "./model/failure.ts";
import type { Codec } from "./model/payload.ts";
import type { JournalRecord } from "./model/record.ts";
import type { Run } from "./model/run.ts";

/** A run with its values decoded. */
export type RunSummary = Omit<Run, "input" | "outcome"> & {
  readonly input: unknown;
  /** Of a completed run. */
  readonly output: unknown;
  /** Of a failed or cancelled run; of a paused one, why it is. */
  readonly error: Error | null;
};

/** A record with its value decoded. */
export type RecordView = Omit<JournalRecord, "payload"> & { readonly value: unknown; readonly error: Error | null };

export function runSummary(codec: Codec, run: Run): RunSummary {
  const { input, outcome, ...rest } = run;
  const value = codec.decode(outcome);
  const error = run.status === "completed" || outcome === null ? null : toError(value as Failure);
  return { ...rest, input: codec.decode(input), output: run.status === "completed" ? value : undefined, error };
}

export function recordView(codec: Codec, record: JournalRecord): RecordView {
  const { payload, ...rest } = record;
  const value = codec.decode(payload);
  return {
    ...rest,
    value: record.outcome === "failed" ? undefined : value,
    error: record.outcome === "failed" && value !== undefined ? toError(value as Failure) : null,
  };
}
