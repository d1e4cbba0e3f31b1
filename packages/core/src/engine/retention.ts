import { type Duration, parseDuration } from "../model/duration.ts";
import { kinds, optionTable } from "../model/option-check.ts";
import type { Retention } from "../worker/retention-loop.ts";

/** How long ended runs, by status, and dead letters are kept. Default for each: forever. */
export interface RetentionOptions {
  readonly completed?: Duration;
  readonly failed?: Duration;
  readonly cancelled?: Duration;
  readonly deadLetters?: Duration;
}

/** The number of rows that `engine.prune` removed. */
export interface PruneReport {
  readonly runs: number;
  readonly deadLetters: number;
  /** Ids of received messages and events, which were kept to detect duplicates. */
  readonly entries: number;
  /** Expired events. They became dead letters. */
  readonly expired: number;
}

export interface PruneOptions {
  /** Default: the `retention` of the engine. */
  readonly retention?: RetentionOptions;
  /** The maximum number of rows of each kind that one commit removes. Default 200, on PostgreSQL and Redis 400. */
  readonly batch?: number;
  /** Called after each batch with the totals so far. */
  readonly onProgress?: (report: PruneReport) => void;
  /** Stops after the current batch. */
  readonly signal?: AbortSignal;
}

export const RETENTION = kinds.options(
  optionTable<RetentionOptions>("retention", {
    completed: kinds.duration,
    failed: kinds.duration,
    cancelled: kinds.duration,
    deadLetters: kinds.duration,
  }),
);

/** A larger `batch` would keep the store busy for too long. */
const BATCH_MAX = 10_000;

export const PRUNE_OPTIONS = optionTable<PruneOptions>("prune", {
  retention: RETENTION,
  batch: kinds.integer(1, BATCH_MAX),
  onProgress: kinds.callback,
  signal: kinds.signal,
});

/** Fills in the defaults of checked options. `receivedMs` is how long the ids of received messages and events are kept. */
export function resolveRetention(options: RetentionOptions, receivedMs: number): Retention {
  const ms = (kept: keyof RetentionOptions): number | null => {
    const duration = options[kept];
    return duration === undefined ? null : parseDuration(duration, `retention.${kept}`);
  };
  return {
    runs: { completed: ms("completed"), failed: ms("failed"), cancelled: ms("cancelled") },
    lettersMs: ms("deadLetters"),
    receivedMs,
  };
}
