import type { Run } from "../model/run.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { Store } from "../store/store.ts";

export interface ClaimSettings {
  readonly worker: string;
  readonly workflows: readonly WorkflowRef[];
}

export interface ClaimParts {
  readonly store: Store;
  /** How many more of those can be taken that were claimed `SUSPECT_CLAIMS` times without progress. */
  readonly suspectRoom: () => number;
  readonly onClaimed: (runs: readonly Run[]) => void;
}

/** After this many claims without progress a run is taken for one that may end its worker: it is not worked on beside another such. */
export const SUSPECT_CLAIMS = 2;

/** Where more is due than there is room for, this part of the room is for what became due last. */
const NEWEST_SHARE = 1 / 8;

/**
 * Takes runs, the longest due first. Where more is due than fits, a share is for what became due last: after an outage, what is
 * started need not wait until all that has gathered is done, and what has gathered is done all the same.
 */
export class ClaimScheduler {
  readonly #settings: ClaimSettings;
  readonly #parts: ClaimParts;
  /** The share that is owed: room often comes for one run at a time. */
  #owed = 0;

  constructor(settings: ClaimSettings, parts: ClaimParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Gives how many were taken. `isBehind`: there was more to take than room for it. */
  async claim(limit: number, isBehind: boolean): Promise<number> {
    if (limit <= 0 || this.#settings.workflows.length === 0) return 0;
    this.#owed = isBehind ? this.#owed + limit * NEWEST_SHARE : 0;
    const newest = Math.floor(this.#owed);
    this.#owed -= newest;
    const taken = newest === 0 ? 0 : await this.#claim(newest, "newest");
    return taken + (newest === limit ? 0 : await this.#claim(limit - newest, "longest"));
  }

  async #claim(limit: number, first: "newest" | "longest"): Promise<number> {
    const { store, suspectRoom, onClaimed } = this.#parts;
    const suspects = { claims: SUSPECT_CLAIMS, max: suspectRoom() };
    const { worker, workflows } = this.#settings;
    const runs = await store.claim({ worker, workflows, limit, newestFirst: first === "newest", suspects });
    if (runs.length > 0) onClaimed(runs);
    return runs.length;
  }
}
