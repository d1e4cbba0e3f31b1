/**
 * Where callers wait to be let into a queue that has a bound, in the order in which they came. One who is let in has a place in the
 * queue, and takes it a moment later.
 */
export class Entrance {
  readonly #max: number;
  readonly #outside: Array<() => void> = [];
  /** Places that are kept for callers who are about to take them. */
  #places = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many are on their way into the queue. */
  get waiting(): number {
    return this.#places + this.#outside.length;
  }

  /** Keeps a place for the caller: at once, which gives null, or when the promise resolves. */
  enter(queued: number): Promise<void> | null {
    if (queued + this.#places >= this.#max) return new Promise<void>((resolve) => this.#outside.push(resolve));
    this.#places += 1;
    return null;
  }

  /** The caller has taken its place. */
  taken(): void {
    this.#places -= 1;
  }

  /** Lets in as many as there is room for beside those that are queued. */
  letIn(queued: number): void {
    while (this.#outside.length > 0 && queued + this.#places < this.#max) {
      this.#places += 1;
      this.#outside.shift()?.();
    }
  }

  /** Nobody waits any more. */
  open(): void {
    for (const resolve of this.#outside.splice(0)) resolve();
  }
}
