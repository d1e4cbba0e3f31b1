import { unstartable } from "../runner/limits.ts";
import type { Store } from "../store/store.ts";
import type { WorkerEvents } from "./worker-events.ts";

/** Pending runs that one tick reads. The next tick continues after them. */
const PAGE_MAX = 200;

export interface OverdueStartsParts {
  readonly store: Pick<Store, "now" | "reader">;
  readonly stopped: () => boolean;
  readonly events: Pick<WorkerEvents, "onUnloadable">;
}

/**
 * Fails pending runs whose `ttl` or deadline has passed. A worker that claims such a run fails it at once; these runs wait for a slot, or for
 * a worker that has their workflow.
 */
export class OverdueStarts {
  readonly #parts: OverdueStartsParts;
  #cursor: string | null = null;

  constructor(parts: OverdueStartsParts) {
    this.#parts = parts;
  }

  async tick(): Promise<void> {
    const { store, stopped, events } = this.#parts;
    const cursor = this.#cursor === null ? {} : { cursor: this.#cursor };
    const page = await store.reader.list({ status: ["pending"], limit: PAGE_MAX, ...cursor });
    if (stopped()) return;
    this.#cursor = page.cursor;
    const now = store.now();
    for (const run of page.items) {
      const error = unstartable(run, now);
      if (error !== null) events.onUnloadable(run, error);
    }
  }
}
