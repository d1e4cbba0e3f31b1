/** Number of server times that the estimate uses. */
const SAMPLES = 32;

/**
 * Estimates the clock of the database server. Both clocks are read in whole milliseconds that start at different moments, so the estimate
 * is ahead by less than 1 ms, and behind by less than 2 ms plus the transit time of the fastest of the last SAMPLES replies. The local clock
 * may be wrong and may jump: the estimate is correct again after SAMPLES replies.
 */
export class DatabaseClock {
  readonly #local: () => number;
  readonly #offsets: number[] = [];
  #offset = 0;

  constructor(local: () => number) {
    this.#local = local;
  }

  now(): number {
    return this.#local() + this.#offset;
  }

  /** Call it with the server time in a reply, when the reply arrives. */
  onServerTime(serverNow: number): void {
    this.#offsets.push(serverNow - this.#local());
    if (this.#offsets.length > SAMPLES) this.#offsets.shift();
    this.#offset = Math.max(...this.#offsets);
  }
}
