import { StoreError } from "../store-error.ts";

/**
 * Whether a server that has something to answer says nothing.
 *
 * The client gives up a connection on which nothing has passed for a while, and what is sent counts as passing: one on which
 * something is sent again and again and nothing is heard would be kept for ever. So nothing more is sent on a silent one.
 */
export class Silence {
  readonly #now: () => number;
  readonly #msMax: number;
  #unanswered = 0;
  /** When the last answer came, or the first command went that has none. */
  #since = 0;

  constructor(now: () => number, msMax: number) {
    this.#now = now;
    this.#msMax = msMax;
  }

  async during<Result>(call: () => Promise<Result>): Promise<Result> {
    const now = this.#now();
    if (this.#unanswered === 0) this.#since = now;
    const ms = now - this.#since;
    if (ms > this.#msMax) {
      const text = `Redis has said nothing for ${ms} ms; the command was not sent`;
      throw new StoreError("STORE_UNAVAILABLE", "notApplied", text);
    }
    this.#unanswered += 1;
    try {
      return await call();
    } finally {
      this.#unanswered -= 1;
      this.#since = this.#now();
    }
  }
}
