import type { NewRun } from "../model/run.ts";
import { FIRST_EPOCH } from "./created-run.ts";
import type { Slot } from "./sessions.ts";

/** A run that a call creates for this worker, and the slot that is kept for it. */
export interface Beginning {
  readonly run: NewRun;
  readonly slot: Slot;
  /** Whether it is there, and has yet to begin. */
  isCreated: boolean;
}

/**
 * Runs that are being created for this worker, or have yet to begin here. The answer may be late: by then the run may have been found
 * among what the worker holds, worked on and lost. So what is known of it here counts only if there was no sign of it since it was asked
 * for; another call that asks for a run of the same id is one.
 */
export class ExpectedRuns {
  readonly #latest = new Map<string, Beginning>();

  /** It is about to be created. */
  add(run: NewRun, slot: Slot): Beginning {
    const beginning = { run, slot, isCreated: false };
    this.#latest.set(run.id, beginning);
    return beginning;
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
  end(beginning: Beginning): boolean {
    const { id } = beginning.run;
    return this.#latest.get(id) === beginning && this.#latest.delete(id);
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
