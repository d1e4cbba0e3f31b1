import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { SuspectLimit } from "../rules/tables.ts";
import type { Store } from "../store/store.ts";
import type { WorkerEvents } from "./worker-events.ts";

export interface ClaimSettings {
  readonly worker: string;
  readonly workflows: readonly WorkflowRef[];
}

/** Limits the claim of suspects. */
export interface SuspectClaims {
  /** How many more suspects this worker may claim beside what it executes. */
  readonly limit: SuspectLimit;
  /** The limit of a claim that may return a lone suspect. `claimEnded` is called after it. */
  claimStarts(): SuspectLimit;
  claimEnded(limit: SuspectLimit): void;
  /** Whether a claim with room for more runs skipped some that were due. */
  skipped(some: boolean): void;
}

export interface ClaimParts {
  readonly store: Store;
  readonly suspects: SuspectClaims;
  readonly events: Pick<WorkerEvents, "onClaimed">;
}

/** The share of the room reserved for the runs that became due last, when more runs are due than there is room for. */
const NEWEST_SHARE = 1 / 8;

/**
 * Claims runs, the longest due first. When more runs are due than there is room for, a share goes to the runs that became due last:
 * after an outage, new runs do not wait for the whole backlog, and the backlog still shrinks.
 */
export class ClaimScheduler {
  readonly #settings: ClaimSettings;
  readonly #parts: ClaimParts;
  /** The share not used yet: room often comes for one run at a time. */
  #owed = 0;

  constructor(settings: ClaimSettings, parts: ClaimParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Returns how many runs were claimed. `isBehind` means that more runs were due than there was room for. */
  async claim(limit: number, isBehind: boolean): Promise<number> {
    if (limit <= 0 || this.#settings.workflows.length === 0) return 0;
    this.#owed = isBehind ? this.#owed + limit * NEWEST_SHARE : 0;
    const newest = Math.floor(this.#owed);
    this.#owed -= newest;
    const taken = newest === 0 ? 0 : await this.#claim(newest, "newest");
    return taken + (newest === limit ? 0 : await this.#claim(limit - newest, "longest"));
  }

  async #claim(limit: number, first: "newest" | "longest"): Promise<number> {
    const { store, suspects, events } = this.#parts;
    const { worker, workflows } = this.#settings;
    const newestFirst = first === "newest";
    // Groups of suspects are formed in the order in which they became due.
    const limits = newestFirst ? { ...suspects.limit, max: 0 } : suspects.claimStarts();
    try {
      const runs = await store.claim({ worker, workflows, limit, newestFirst, suspects: limits });
      if (runs.length > 0) events.onClaimed(runs);
      return runs.length;
    } finally {
      suspects.claimEnded(limits);
    }
  }
}
