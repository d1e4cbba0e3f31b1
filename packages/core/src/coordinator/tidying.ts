import type { Clock } from "../runtime/clock.ts";
import type { Pruned, Store } from "../store/store.ts";
import { type Retention, tidy } from "./tidy.ts";

/** How often old rows are removed, in time and in polls, whichever is longer; how many of a kind at a time; and when there is more. */
const TIDY_MS = 60_000;
const TIDY_POLLS = 60;
const TIDY_MAX = 200;
const TIDY_AGAIN_MS = 200;

export interface TidyingParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly retention: Retention;
  /** Null: the store was not reached. */
  readonly reaching: (call: () => Promise<Pruned>) => Promise<Pruned | null>;
  readonly stopped: () => boolean;
}

export function tidyEveryMs(pollMs: number): number {
  return Math.max(TIDY_MS, TIDY_POLLS * pollMs);
}

/**
 * Events whose time is over become dead letters; what is older than it is kept goes. A bounded number at a time; when there is
 * more, soon again.
 */
export class Tidying {
  readonly #parts: TidyingParts;
  #underWay = false;

  constructor(parts: TidyingParts) {
    this.#parts = parts;
  }

  async tick(): Promise<void> {
    if (this.#underWay) return;
    const { store, clock, retention, reaching, stopped } = this.#parts;
    this.#underWay = true;
    const pruned = await reaching(() => tidy(store, retention, TIDY_MAX));
    const again = (): void => {
      this.#underWay = false;
      if (!stopped()) void this.tick();
    };
    if (pruned?.done === false) clock.wakeAt(clock.now() + TIDY_AGAIN_MS, again);
    else this.#underWay = false;
  }
}
