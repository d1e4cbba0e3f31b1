import type { Turns } from "../runtime/turns.ts";
import type { Loaded } from "../store/store.ts";
import type { ExpectedRuns } from "./expected-runs.ts";
import type { Slot } from "./sessions.ts";

/** A run that was created here, and the slot that is kept for it. */
export interface Beginning {
  readonly created: Loaded;
  readonly slot: Slot;
}

export interface BeginningsParts {
  /** How many more runs the store has time for: none or less, where those that are under way keep it busy. */
  readonly room: () => number;
  readonly expected: ExpectedRuns;
  readonly turns: Pick<Turns, "atTurnEnd">;
  readonly begin: (created: Loaded) => void;
  /** None waits any more. */
  readonly onAllBegun: () => void;
}

/**
 * Runs that were created here, on their way to their sessions.
 *
 * P1. While enough runs are under way to keep the store busy, those that were created after them wait, first come first served: of many
 *     that are started at once the first end when they would else be half done, and the last end no later.
 * P2. One at least begins after each commit, and as many as there is room for: runs that never come to an end, or whose bodies take
 *     long, keep none from beginning.
 */
export class Beginnings {
  readonly #parts: BeginningsParts;
  #waiting: Beginning[] = [];
  #isComing = false;

  constructor(parts: BeginningsParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(beginning: Beginning): void {
    if (this.isEmpty && this.#parts.room() > 0) {
      this.#begin(beginning);
      return;
    }
    this.#waiting.push(beginning);
  }

  /** There was a commit: one begins, or as many as there is room for. What has come of the commit is known at the end of the turn. */
  look(least = 1): void {
    if (this.isEmpty || this.#isComing) return;
    this.#isComing = true;
    this.#parts.turns.atTurnEnd(() => {
      this.#isComing = false;
      const room = this.#parts.room();
      for (const beginning of this.#waiting.splice(0, Math.max(least, room))) this.#begin(beginning);
      if (this.isEmpty) this.#parts.onAllBegun();
      // What has begun may have nothing to commit for long. If it has, there is a commit to come.
      else if (room > 0) this.look(0);
    });
  }

  /** Those that wait don't begin here any more. */
  close(): void {
    for (const { created, slot } of this.#waiting.splice(0)) {
      this.#parts.expected.drop(created.run.id);
      slot.give();
    }
  }

  #begin({ created, slot }: Beginning): void {
    this.#parts.begin(created);
    slot.give();
  }
}
