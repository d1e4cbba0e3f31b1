import type { TerminalStatus } from "../model/run.ts";
import type { Pruned, PruneRequest } from "../rules/tables.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Store } from "../store/store.ts";

/** How long ended runs and dead letters are kept, in ms. Null keeps them forever. */
export interface Retention {
  readonly runs: Readonly<Record<TerminalStatus, number | null>>;
  readonly lettersMs: number | null;
  /** How long the ids of received messages and events are kept. A repeat within that time is a duplicate. */
  readonly receivedMs: number;
}

export const NOTHING_PRUNED: Pruned = { runs: 0, entries: 0, expired: 0, letters: 0, done: true };

/**
 * Deletes expired rows once: at most `limit` runs of each status, ids, events and letters. Each kind is a separate commit, so that no
 * other commit waits long. Resolves to null if `prune` does, and makes no further call.
 */
export async function pruneOnce(
  retention: Retention,
  now: number,
  limit: number,
  prune: (request: PruneRequest) => Promise<Pruned | null>,
): Promise<Pruned | null> {
  let sum = NOTHING_PRUNED;
  for (const request of requests(retention, now, limit)) {
    const pruned = await prune(request);
    if (pruned === null) return null;
    sum = added(sum, pruned);
  }
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

/** Statuses with the same retention share a request, so that children are deleted before their parents. */
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

/** Expired rows are deleted every INTERVAL_MS or every INTERVAL_POLLS polls, the longer of both. */
const INTERVAL_MS = 60_000;
const INTERVAL_POLLS = 60;
/** Rows of one kind deleted in one call, if the call keeps this process busy. */
const PRUNE_MAX = 200;
/** If there was more, the next call follows after a pause of at least this duration. */
const PAUSE_MS_MIN = 10;
/** The pause, as a share of the duration of the call before, if the call keeps this process busy, and if it does not. */
const PAUSE_SHARE = { busy: 1, idle: 1 / 4 };

export interface RetentionLoopParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly retention: Retention;
  /** Resolves to null if the store was unreachable. */
  readonly withRetry: (call: () => Promise<Pruned>) => Promise<Pruned | null>;
  readonly stopped: () => boolean;
}

/** How long the loop pauses after a call, so that other work gets a share of the time. */
function pauseMs({ batchMax }: Pick<Store, "batchMax">, callMs: number): number {
  const share = batchMax === undefined ? PAUSE_SHARE.busy : PAUSE_SHARE.idle;
  return Math.max(callMs * share, PAUSE_MS_MIN);
}

/** The rows of one kind that one call deletes. */
export function pruneBatch({ batchMax }: Pick<Store, "batchMax">): number {
  return batchMax ?? PRUNE_MAX;
}

export function retentionIntervalMs(pollMs: number): number {
  return Math.max(INTERVAL_MS, INTERVAL_POLLS * pollMs);
}

/**
 * Deletes rows that are older than the retention, and turns expired events into dead letters. Each call is bounded; if there was
 * more, the next one follows after a pause: half of the time is left to other work, and a fifth if the store works in another process.
 */
export class RetentionLoop {
  readonly #parts: RetentionLoopParts;
  #pruning = false;

  constructor(parts: RetentionLoopParts) {
    this.#parts = parts;
  }

  async tick(): Promise<void> {
    if (this.#pruning) return;
    const { store, clock, retention, withRetry, stopped } = this.#parts;
    this.#pruning = true;
    const startedAt = clock.now();
    const pruned = await pruneOnce(retention, store.now(), pruneBatch(store), async (request) =>
      stopped() ? null : await withRetry(() => store.prune(request)),
    );
    const again = (): void => {
      this.#pruning = false;
      if (!stopped()) void this.tick();
    };
    const now = clock.now();
    if (pruned?.done === false) clock.wakeAt(now + pauseMs(store, now - startedAt), again);
    else this.#pruning = false;
  }
}
