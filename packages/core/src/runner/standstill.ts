import type { Run } from "../model/run.ts";
import type { Draft } from "./draft.ts";

/**
 * Since when a run has not come any further. One that is brought back into memory stands still since it came to rest, not since
 * it was brought back; one that was paused, or given back in the middle of its work, begins anew.
 */
export class Standstill {
  #since: number | null;
  #seq: number;

  constructor({ wait }: Pick<Run, "wait">, seq: number) {
    this.#since = wait?.since ?? null;
    this.#seq = seq;
  }

  since(draft: Draft): number {
    if (this.#since === null || this.#seq !== draft.seq) this.#since = draft.at;
    this.#seq = draft.seq;
    return this.#since;
  }

  /** What is recorded here brings the run no further. */
  keptOver(draft: Draft, record: () => void): void {
    const stood = this.#seq === draft.seq;
    record();
    if (stood) this.#seq = draft.seq;
  }
}
