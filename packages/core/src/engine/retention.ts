import { type Duration, parseDuration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import type { Retention } from "../worker/retention-loop.ts";

/** How long what is over is kept. What is not named is kept for ever. */
export interface RetentionOptions {
  readonly completed?: Duration;
  readonly failed?: Duration;
  readonly cancelled?: Duration;
  readonly deadLetters?: Duration;
}

/** What `engine.prune` has removed. */
export interface PruneReport {
  readonly runs: number;
  readonly deadLetters: number;
  /** Ids of messages and events that were received long ago. */
  readonly entries: number;
  /** Events whose time was over; they are dead letters. */
  readonly expired: number;
}

export interface PruneOptions {
  /** In place of the engine's. */
  readonly retention?: RetentionOptions;
  /** Rows of a kind that one commit removes. Default 200. */
  readonly batch?: number;
  /** Called after each batch with what was removed so far. */
  readonly onProgress?: (report: PruneReport) => void;
  /** Ends it after the batch that is under way. */
  readonly signal?: AbortSignal;
}

const KINDS = ["completed", "failed", "cancelled", "deadLetters"] as const;

/** `receivedMs` is how long the ids of what was received are known. */
export function resolveRetention(options: RetentionOptions, receivedMs: number): Retention {
  for (const kind of Object.keys(options)) {
    if (!KINDS.includes(kind as (typeof KINDS)[number]))
      throw new PawlError("OPTION_INVALID", `retention has no ${kind}; it knows ${KINDS.join(", ")}`);
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
