import { FIRST_EPOCH } from "./created-run.ts";

/** A call that creates a run for this worker. */
export interface Expectation {
  readonly runId: string;
  /** Whether it has: the run is there, and has yet to begin. */
  isCreated: boolean;
}

/**
 * Runs that are being created for this worker, or have yet to begin here. The answer may be late: by then the run may have been found
 * among what the worker holds, worked on and lost. So what is known of it here counts only if there was no sign of it since it was asked
 * for; another call that asks for a run of the same id is one.
 */
export class ExpectedRuns {
  readonly #latest = new Map<string, Expectation>();

  /** It is about to be created. */
  add(runId: string): Expectation {
    const expectation = { runId, isCreated: false };
    this.#latest.set(runId, expectation);
    return expectation;
  }

  has(runId: string): boolean {
    return this.#latest.has(runId);
  }

  /**
   * Whether what this worker holds of the run is what waits here to begin: that is no sign of anything else. One whose creation is not
   * answered is to be taken up: the answer may be long in coming.
   */
  waits(runId: string, epoch: number): boolean {
    return epoch === FIRST_EPOCH && this.#latest.get(runId)?.isCreated === true;
  }

  /** It begins, or is not created. False: there was a sign of it since it was asked for. */
  end(expectation: Expectation): boolean {
    return this.#latest.get(expectation.runId) === expectation && this.#latest.delete(expectation.runId);
  }

  /** There is a sign of it. */
  drop(runId: string): void {
    this.#latest.delete(runId);
  }

  /** Whatever was created may have been taken away since. */
  dropAll(): void {
    this.#latest.clear();
  }
}
