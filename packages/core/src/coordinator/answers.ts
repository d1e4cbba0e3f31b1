import type { Wake } from "../model/transition.ts";
import { type Conclusion, conclude } from "../rules/conclude.ts";
import { assert } from "../runtime/assert.ts";
import { type Turns, turnEnd } from "../runtime/turns.ts";
import type { Committed } from "./committer.ts";
import { type Entry, type Sent, unavailable } from "./entry.ts";
import type { OwnedRuns } from "./owned-runs.ts";

/** How many answers are given in one turn of the event loop: what they set in motion runs in it, and all else waits for its end. */
const ANSWERS_MAX = 250;

/** Gives what a commit has brought to those who asked for it, and the wake-ups to whoever works on the runs. */
export class Answers {
  readonly #turns: Turns;
  readonly #owned: OwnedRuns;
  readonly #onWakes: (wakes: readonly Wake[]) => void;
  readonly #settle: (entry: Entry, conclusion: Conclusion) => void;

  constructor(
    turns: Turns,
    owned: OwnedRuns,
    onWakes: (wakes: readonly Wake[]) => void,
    settle: (entry: Entry, conclusion: Conclusion) => void,
  ) {
    this.#turns = turns;
    this.#owned = owned;
    this.#onWakes = onWakes;
    this.#settle = settle;
  }

  /**
   * Many answers have turns of their own: the commit has kept the loop busy for long enough. What is returned tells those who are to be
   * told at the end of the turn; null: there are none.
   */
  async give(
    { asked, batch }: Omit<Sent, "result">,
    { commit, resent, given }: Committed,
  ): Promise<(() => void) | null> {
    const callers: Array<() => void> = [];
    const codeFirst = commit.wakes.length > 0 && asked.length <= ANSWERS_MAX;
    let next = 0;
    let index = -1;
    for (const { entry, op, owned } of asked) {
      index += 1;
      if (asked.length > ANSWERS_MAX && index % ANSWERS_MAX === 0) await turnEnd(this.#turns);
      if (given.has(index)) {
        if (entry.kind === "op") entry.fail(unavailable(op));
        continue;
      }
      const answer = commit.answers[next++];
      const transition = batch[index];
      assert(answer !== undefined && transition !== undefined, "a commit answers each of its transitions");
      if (owned !== null && transition.kind === "append") this.#owned.answered(transition, answer, owned);
      const conclusion = conclude(op, answer, resent && owned?.isSecond !== true, transition);
      if (codeFirst && entry.kind === "op" && transition.kind === "post")
        callers.push(this.#settling(entry, conclusion));
      else this.#settle(entry, conclusion);
    }
    if (commit.wakes.length > 0) this.#onWakes(commit.wakes);
    return callers.length === 0 ? null : inOrder(callers);
  }

  /** Apart, so that only answers that are put off need a scope of their own. */
  #settling(entry: Entry, conclusion: Conclusion): () => void {
    return () => this.#settle(entry, conclusion);
  }
}

function inOrder(calls: ReadonlyArray<() => void>): () => void {
  return () => {
    for (const call of calls) call();
  };
}
