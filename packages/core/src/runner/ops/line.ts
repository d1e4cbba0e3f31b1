/** A branch that may be ended before it has come to its end: what it asks for after that counts for nothing. */
export class Line {
  readonly #within: Line | null;
  readonly #outer: () => AbortSignal;
  #controller: AbortController | null = null;
  #reason: Error | null = null;

  constructor(within: Line | null, outer: () => AbortSignal) {
    this.#within = within;
    this.#outer = outer;
  }

  get isOver(): boolean {
    return this.#reason !== null || (this.#within?.isOver ?? false);
  }

  /** Aborted when the branch is ended, or what it lies in. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== null) this.#controller.abort(this.#reason);
    return AbortSignal.any([this.#outer(), this.#controller.signal]);
  }

  end(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
