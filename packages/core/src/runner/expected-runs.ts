/**
 * Runs that are being created for this worker, or have yet to begin here. The answer may be late: by then the run may have been found among what the worker
 * holds, worked on and lost. So what is known of it here counts only if there was no sign of it before.
 */
export class ExpectedRuns {
  readonly #ids = new Set<string>();

  /** It is about to be created. */
  add(runId: string): void {
    this.#ids.add(runId);
  }

  has(runId: string): boolean {
    return this.#ids.has(runId);
  }

  /** There is a sign of it, or it is not created. Says whether it was the first. */
  drop(runId: string): boolean {
    return this.#ids.delete(runId);
  }

  /** Whatever was created may have been taken away since. */
  dropAll(): void {
    this.#ids.clear();
  }
}
