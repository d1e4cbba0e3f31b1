import type { TerminalStatus } from "../model/run.ts";
import type { Pruned, PruneRequest } from "../rules/tables.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";

/** How long what is over is kept, in ms; null: for ever. */
export interface Retention {
  readonly runs: Readonly<Record<TerminalStatus, number | null>>;
  readonly lettersMs: number | null;
  /** How long the ids of what was received are known, so that the same again is a duplicate. */
  readonly receivedMs: number;
}

export const NOTHING_PRUNED: Pruned = { runs: 0, entries: 0, expired: 0, letters: 0, done: true };

/**
 * Removes what is older than it is kept: at most `limit` runs of each status, ids, events and letters. Each kind is a commit
 * of its own, so that nobody waits long for the store.
 */
export async function pruneOnce(store: Store, retention: Retention, limit: number): Promise<Pruned> {
  let sum = NOTHING_PRUNED;
  for (const request of requests(retention, store.now(), limit)) sum = added(sum, await store.prune(request));
  return sum;
}

export function added(left: Pruned, right: Pruned): Pruned {
  return {
    runs: left.runs + right.runs,
    entries: left.entries + right.entries,
    expired: left.expired + right.expired,
    letters: left.letters + right.letters,
    done: left.done && right.done,
  };
}

/** Statuses that are kept equally long go together: children before their parents, whatever became of each. */
function requests({ runs, lettersMs, receivedMs }: Retention, now: number, limit: number): readonly PruneRequest[] {
  const byAge = new Map<number, TerminalStatus[]>();
  for (const status of ["completed", "failed", "cancelled"] as const) {
    const ms = runs[status];
    if (ms !== null) byAge.set(ms, [...(byAge.get(ms) ?? []), status]);
  }
  const lettersBefore = lettersMs === null ? null : now - lettersMs;
  return [
    ...Array.from(byAge, ([ms, statuses]) => ({ runsEndedBefore: now - ms, statuses, receivedBefore: null, limit })),
    { runsEndedBefore: null, receivedBefore: now - receivedMs, lettersBefore, limit },
  ];
}

/** How often old rows are removed, in time and in polls, whichever is longer; how many of a kind at a time; and when there is more. */
const TIDY_MS = 60_000;
const TIDY_POLLS = 60;
const TIDY_MAX = 200;
const TIDY_AGAIN_MS = 200;

export interface RetentionLoopParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly retention: Retention;
  /** Null: the store was not reached. */
  readonly withRetry: (call: () => Promise<Pruned>) => Promise<Pruned | null>;
  readonly stopped: () => boolean;
}

export function retentionIntervalMs(pollMs: number): number {
  return Math.max(TIDY_MS, TIDY_POLLS * pollMs);
}

/**
 * Events whose time is over become dead letters; what is older than it is kept goes. A bounded number at a time; when there is
 * more, soon again.
 */
export class RetentionLoop {
  readonly #parts: RetentionLoopParts;
  #pruning = false;

  constructor(parts: RetentionLoopParts) {
    this.#parts = parts;
  }

  async tick(): Promise<void> {
    if (this.#pruning) return;
    const { store, clock, retention, withRetry: reaching, stopped } = this.#parts;
    this.#pruning = true;
    const pruned = await reaching(() => pruneOnce(store, retention, TIDY_MAX));
    const again = (): void => {
      this.#pruning = false;
      if (!stopped()) void this.tick();
    };
    if (pruned?.done === false) clock.wakeAt(clock.now() + TIDY_AGAIN_MS, again);
    else this.#pruning = false;
  }
}
