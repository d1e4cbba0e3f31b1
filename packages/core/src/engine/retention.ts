import { type Duration, parseDuration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
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

const KINDS = ["completed", "failed", "cancelled", "deadLetters"] as const;

/** `receivedMs` is how long the ids of received messages and events are kept. */
export function resolveRetention(options: RetentionOptions, receivedMs: number): Retention {
  for (const kind of Object.keys(options)) {
    if (!KINDS.includes(kind as (typeof KINDS)[number]))
      throw new PawlError("OPTION_INVALID", `unknown retention key "${kind}"; use ${KINDS.join(", ")}`);
  }
  const ms = (kind: (typeof KINDS)[number]): number | null => {
    const duration = options[kind];
    return duration === undefined ? null : parseDuration(duration, `retention.${kind}`);
  };
  return {
    runs: { completed: ms("completed"), failed: ms("failed"), cancelled: ms("cancelled") },
    lettersMs: ms("deadLetters"),
    receivedMs,
  };
}
