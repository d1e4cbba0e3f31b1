import type { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import type { SendOutcome } from "../model/op.ts";
import { type Codec, readingOf } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Run, Status } from "../model/run.ts";
import type { PauseOptions, RewindOptions, Rewound } from "../operator/action.ts";
import type { SendOptions } from "../workflow/ctx.ts";
import type { MessageType } from "../workflow/messages.ts";
import type { CallLimits } from "./call-limit.ts";

/** The part of a run's history that replay reads. */
export interface SinceSnapshot {
  /** The program's state after the record `seq`. Null if the program has written none. */
  readonly snapshot: { readonly seq: number; readonly at: number; readonly state: unknown } | null;
  /** The records after the snapshot, or all records if there is none. */
  readonly records: readonly RecordView[];
}

export interface WatchOptions {
  /** The seq of the last record that the caller has. Only later records are yielded. Default 0: all records. */
  readonly after?: number;
  /** Ends the iteration when it is aborted: it throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface ResultOptions extends CallLimits {
  /** Whether to wait for the end of a run that has paused itself. False rejects with `RUN_PAUSED`. Default false. */
  readonly waitWhilePaused?: boolean;
}

/** Refers to one run by its id. */
export interface RunHandle<Output = unknown> {
  readonly id: string;
  /**
   * Resolves with the output. Rejects with `RUN_FAILED` or `RUN_CANCELLED`, with the failure as `cause`, and with `RESULT_TIMEOUT` if the
   * run has not ended within `timeout`. The run continues. Rejects with `RUN_PAUSED` if the run has paused itself: its code threw a
   * programming error or diverged, or a payload cannot be read. A pause by an operator keeps it waiting.
   */
  result(options?: ResultOptions): Promise<Output>;
  status(): Promise<Status>;
  send<Value>(message: string | MessageType<Value>, value: Value, options?: SendOptions): Promise<SendOutcome>;
  /** False if the run had ended or was compensating already. */
  cancel(reason?: string): Promise<boolean>;
  /** Ends the run at once, without rolling it back. False if the run had ended. */
  terminate(reason?: string): Promise<boolean>;
  pause(options?: string | PauseOptions): Promise<void>;
  resume(): Promise<void>;
  /** Drops the record at a location or seq and all later records. The run continues from there. 0 is the start of the run. */
  rewind(at: string | number, options?: RewindOptions): Promise<Rewound>;
  /** Continues a failed run from the record that made it fail. */
  retry(options?: RewindOptions): Promise<Rewound>;
  /** All records, oldest first. */
  journal(): Promise<readonly RecordView[]>;
  /** The newest snapshot and the records after it, from one read. Its cost does not grow with the length of the history. */
  sinceSnapshot(): Promise<SinceSnapshot>;
  /** Yields all records after `after`, and new ones as they are committed. Ends when the run has ended. */
  watch(options?: WatchOptions): AsyncIterable<RecordView>;
}

/** The implementation behind the methods of a handle. */
export interface RunCalls {
  readonly result: (runId: string, options?: ResultOptions) => Promise<unknown>;
  readonly status: (runId: string) => Promise<Status>;
  readonly send: <Value>(
    runId: string,
    message: string | MessageType<Value>,
    value: Value,
    options?: SendOptions,
  ) => Promise<SendOutcome>;
  readonly cancel: (runId: string, reason?: string) => Promise<boolean>;
  readonly terminate: (runId: string, reason?: string) => Promise<boolean>;
  readonly pause: (runId: string, options?: string | PauseOptions) => Promise<void>;
  readonly resume: (runId: string) => Promise<void>;
  readonly rewind: (runId: string, at: string | number, options?: RewindOptions) => Promise<Rewound>;
  readonly retry: (runId: string, options?: RewindOptions) => Promise<Rewound>;
  readonly journal: (runId: string) => Promise<readonly RecordView[]>;
  readonly sinceSnapshot: (runId: string) => Promise<SinceSnapshot>;
  readonly watch: (runId: string, options?: WatchOptions) => AsyncIterable<RecordView>;
}

/** A class, not an object of closures, because every started run has a handle. */
export class Handle<Output> implements RunHandle<Output> {
  readonly id: string;
  readonly #calls: RunCalls;

  constructor(id: string, calls: RunCalls) {
    this.id = id;
    this.#calls = calls;
  }

  result(options?: ResultOptions): Promise<Output> {
    return this.#calls.result(this.id, options) as Promise<Output>;
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

  terminate(reason?: string): Promise<boolean> {
    return this.#calls.terminate(this.id, reason);
  }

  pause(options?: string | PauseOptions): Promise<void> {
    return this.#calls.pause(this.id, options);
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

  watch(options?: WatchOptions): AsyncIterable<RecordView> {
    return this.#calls.watch(this.id, options);
  }
}

/** A run with its values decoded. */
export type RunSummary = Omit<Run, "input" | "outcome"> & {
  readonly input: unknown;
  /** Undefined unless the run is completed. */
  readonly output: unknown;
  /** The failure of a failed or cancelled run, or the reason of a pause. */
  readonly error: Error | null;
  /** Set if the input, the output or the failure cannot be read with this codec. An unreadable value is undefined. */
  readonly unreadable: PawlError | null;
};

/** A record with its value decoded. */
export type RecordView = Omit<JournalRecord, "payload"> & {
  readonly value: unknown;
  readonly error: Error | null;
  /** Set if the value or the failure cannot be read with this codec. */
  readonly unreadable: PawlError | null;
};

export function runSummary(codec: Codec, run: Run): RunSummary {
  const { input, outcome, ...rest } = run;
  const isCompleted = run.status === "completed";
  const given = readingOf<unknown>(codec, input, `the input of run ${run.id}`);
  const end = readingOf<unknown>(codec, outcome, `the ${isCompleted ? "output" : "failure"} of run ${run.id}`);
  return {
    ...rest,
    input: given.value,
    output: isCompleted ? end.value : undefined,
    error: isCompleted || outcome === null ? null : (end.unreadable ?? toError(end.value as Failure)),
    unreadable: given.unreadable ?? end.unreadable,
  };
}

export function recordView(codec: Codec, record: JournalRecord): RecordView {
  const { payload, ...rest } = record;
  const { value, unreadable } = readingOf<unknown>(codec, payload, `record ${record.seq} at ${record.location}`);
  const isFailed = record.outcome === "failed";
  const error = isFailed && value !== undefined ? toError(value as Failure) : null;
  return { ...rest, value: isFailed ? undefined : value, error: isFailed ? (unreadable ?? error) : null, unreadable };
}
