/** A branch that may be ended before it has come to its end: what it asks for after that counts for nothing. */
export class Line {
  readonly #within: Line | null;
  readonly #outer: () => AbortSignal;
  /** Children that were started here, by location, and are not known to have ended. */
  readonly #children = new Map<string, string>();
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

  get children(): ReadonlyMap<string, string> {
    return this.#children;
  }

  childStarted(location: string, runId: string): void {
    this.#children.set(location, runId);
    this.#within?.childStarted(location, runId);
  }

  childEnded(location: string): void {
    this.#children.delete(location);
    this.#within?.childEnded(location);
  }

  end(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
