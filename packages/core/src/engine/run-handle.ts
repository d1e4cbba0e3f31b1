import { type Failure, toError } from "../model/failure.ts";
import type { SendOutcome } from "../model/op.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Run, Status } from "../model/run.ts";
import type { RewindOptions, Rewound } from "../operator/action.ts";
import type { SendOptions } from "../workflow/ctx.ts";
import type { MessageType } from "../workflow/messages.ts";

/** What a session of a run would begin with. */
export interface SinceSnapshot {
  /** What the run's program has kept, after the record `seq`; null: nothing. */
  readonly snapshot: { readonly seq: number; readonly at: number; readonly state: unknown } | null;
  /** The records after it; all of them if there is none. */
  readonly records: readonly RecordView[];
}

/** One run, by id. */
export interface RunHandle<Output = unknown> {
  readonly id: string;
  /** Resolves with the output; rejects with code `RUN_FAILED` or `RUN_CANCELLED` and the failure as cause. */
  result(): Promise<Output>;
  status(): Promise<Status>;
  send<Value>(message: string | MessageType<Value>, value: Value, options?: SendOptions): Promise<SendOutcome>;
  /** False: it had ended before. */
  cancel(reason?: string): Promise<boolean>;
  pause(reason?: string): Promise<void>;
  resume(): Promise<void>;
  /** Drops the record there and all later ones, and lets the run go on; 0 is the beginning. */
  rewind(at: string | number, options?: RewindOptions): Promise<Rewound>;
  /** Lets it go on from what made it fail. */
  retry(options?: RewindOptions): Promise<Rewound>;
  /** Its records, oldest first. */
  journal(): Promise<readonly RecordView[]>;
  /** Its newest snapshot and the records after it, read at one moment: enough to know where a run is, however long it has gone on. */
  sinceSnapshot(): Promise<SinceSnapshot>;
  /** Its records as they are committed, from the first on; ends when the run does. */
  watch(): AsyncIterable<RecordView>;
}

/** What a handle does with its run. */
export interface RunCalls {
  readonly result: (runId: string) => Promise<unknown>;
  readonly status: (runId: string) => Promise<Status>;
  readonly send: <Value>(
    runId: string,
    message: string | MessageType<Value>,
    value: Value,
    options?: SendOptions,
  ) => Promise<SendOutcome>;
  readonly cancel: (runId: string, reason?: string) => Promise<boolean>;
  readonly pause: (runId: string, reason?: string) => Promise<void>;
  readonly resume: (runId: string) => Promise<void>;
  readonly rewind: (runId: string, at: string | number, options?: RewindOptions) => Promise<Rewound>;
  readonly retry: (runId: string, options?: RewindOptions) => Promise<Rewound>;
  readonly journal: (runId: string) => Promise<readonly RecordView[]>;
  readonly sinceSnapshot: (runId: string) => Promise<SinceSnapshot>;
  readonly watch: (runId: string) => AsyncIterable<RecordView>;
}

/** A class, since there is one for each run that is started. */
export class Handle<Output> implements RunHandle<Output> {
  readonly id: string;
  readonly #calls: RunCalls;

  constructor(id: string, calls: RunCalls) {
    this.id = id;
    this.#calls = calls;
  }

  result(): Promise<Output> {
    return this.#calls.result(this.id) as Promise<Output>;
  }

  status(): Promise<Status> {
    return this.#calls.status(this.id);
  }

  send<Value>(message: string | MessageType<Value>, value: Value, options?: SendOptions): Promise<SendOutcome> {
    return this.#calls.send(this.id, message, value, options);
  }

  cancel(reason?: string): Promise<boolean> {
    return this.#calls.cancel(this.id, reason);
  }

  pause(reason?: string): Promise<void> {
    return this.#calls.pause(this.id, reason);
  }

  resume(): Promise<void> {
    return this.#calls.resume(this.id);
  }

  rewind(at: string | number, options?: RewindOptions): Promise<Rewound> {
    return this.#calls.rewind(this.id, at, options);
  }

  retry(options?: RewindOptions): Promise<Rewound> {
    return this.#calls.retry(this.id, options);
  }

  journal(): Promise<readonly RecordView[]> {
    return this.#calls.journal(this.id);
  }

  sinceSnapshot(): Promise<SinceSnapshot> {
    return this.#calls.sinceSnapshot(this.id);
  }

  watch(): AsyncIterable<RecordView> {
    return this.#calls.watch(this.id);
  }
}

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
