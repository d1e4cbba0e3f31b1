/** How many answers the estimate rests on. */
const SAMPLES = 32;

/**
 * The database's clock, as it can be told from here. Both count whole milliseconds and begin the next one at different moments, so
 * it is ahead by less than one, and behind by less than two and what the fastest of the last answers took on its way. The machine's
 * own clock may be anything, and may jump: the estimate has followed after that many answers.
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

  /** An answer that has just come says what time it was there. */
  heard(present: number): void {
    this.#offsets.push(present - this.#local());
    if (this.#offsets.length > SAMPLES) this.#offsets.shift();
    this.#offset = Math.max(...this.#offsets);
  }
}
