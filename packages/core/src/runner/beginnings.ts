import type { Turns } from "../runtime/turns.ts";
import type { Beginning } from "./expected-runs.ts";

export interface BeginningsParts {
  /** How many more runs the store has time for: none or less, where those that are under way keep it busy. */
  readonly room: () => number;
  readonly turns: Pick<Turns, "atTurnEnd">;
  readonly begin: (beginning: Beginning) => void;
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
  /** How many have begun in this turn: whether they have something to commit is known at its end. */
  #fresh = 0;
  /** How many begin at the end of this turn, whatever room there is. */
  #least = 0;
  #isComing = false;

  constructor(parts: BeginningsParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(beginning: Beginning): void {
    this.#comeAtTurnEnd();
    if (!this.isEmpty || this.#parts.room() <= this.#fresh) {
      this.#waiting.push(beginning);
      return;
    }
    this.#fresh += 1;
    this.#begin(beginning);
  }

  /** There was a commit. */
  committed(): void {
    if (this.isEmpty) return;
    this.#least = 1;
    this.#comeAtTurnEnd();
  }

  #comeAtTurnEnd(): void {
    if (this.#isComing) return;
    this.#isComing = true;
    this.#parts.turns.atTurnEnd(() => {
      this.#isComing = false;
      this.#turnEnds();
    });
  }

  #turnEnds(): void {
    const room = this.#parts.room();
    const count = Math.max(this.#least, room);
    this.#fresh = 0;
    this.#least = 0;
    if (this.isEmpty) return;
    for (const beginning of this.#waiting.splice(0, count)) this.#begin(beginning);
    if (this.isEmpty) this.#parts.onAllBegun();
    // Those that have begun now may have nothing to commit for long; if they have, there is a commit to come.
    else if (room > 0) this.#comeAtTurnEnd();
  }

  #begin(beginning: Beginning): void {
    this.#parts.begin(beginning);
    beginning.slot.give();
  }
}
