import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { Store } from "../store/store.ts";

const TEXT = "a worker sends no heartbeats; its runs are taken over when its lease expires";

export interface SilentWorkersParts {
  readonly store: Pick<Store, "now" | "reader">;
  readonly clock: Pick<Clock, "now">;
  readonly worker: string;
  readonly leaseMs: number;
  readonly log: Log;
}

/** The earliest end of a lease of another worker, and when it was seen first. */
interface SeenExpiry {
  readonly at: number;
  readonly seenAt: number;
}

/**
 * Logs once that the runs of a worker wait for its lease. A live worker renews its lease three times in its length. So a lease that ends
 * within the length of ours, and was not renewed for half of that, belongs to a silent worker. Only then the workers are read.
 */
export class SilentWorkers {
  readonly #parts: SilentWorkersParts;
  #earliest: SeenExpiry | null = null;
  #loggedAt: number | null = null;

  constructor(parts: SilentWorkersParts) {
    this.#parts = parts;
  }

  async onHeartbeat(nextExpiryAt: number | null): Promise<void> {
    const { store, clock, worker, leaseMs, log } = this.#parts;
    const now = clock.now();
    if (nextExpiryAt !== this.#earliest?.at)
      this.#earliest = nextExpiryAt === null ? null : { at: nextExpiryAt, seenAt: now };
    if (this.#earliest === null || this.#loggedAt === nextExpiryAt) return;
    const { at, seenAt } = this.#earliest;
    const leftMs = at - store.now();
    if (now - seenAt < leaseMs / 2 || leftMs <= 0 || leftMs > leaseMs) return;
    this.#loggedAt = at;
    const rows = await store.reader.workers();
    const silent = rows.filter(({ id, expiresAt }) => id !== worker && expiresAt === at);
    for (const { id } of silent) log("warn", TEXT, { worker: id, leftMs });
  }
}
