import type { Records } from "../model/record.ts";
import type { Run, Wait } from "../model/run.ts";
import type { Draft } from "./draft.ts";

/** Where a run stands still: since when, and behind which record. */
export interface Stand {
  readonly since: number;
  readonly seq: number;
}

/**
 * Since when a run has not come any further. One that is brought back into memory stands still since it came to rest, not since
 * it was brought back; one that was paused, or given back in the middle of its work, begins anew.
 */
export class Standstill {
  #since: number | null;
  #seq: number;

  constructor(wait: Wait | null, seq: number) {
    this.#since = wait?.since ?? null;
    this.#seq = seq;
  }

  at(draft: Draft): Stand {
    if (this.#since === null || this.#seq !== draft.seq) this.#since = draft.at;
    this.#seq = draft.seq;
    return { since: this.#since, seq: this.#seq };
  }

  /** What is recorded here brings the run no further. */
  keptOver(draft: Draft, record: () => void): void {
    const stood = this.#seq === draft.seq;
    record();
    if (stood) this.#seq = draft.seq;
  }
}

/** What the run waits for; null where its journal says that it has come further since its row was written. */
export function standingWait({ wait }: Pick<Run, "wait">, records: Records): Wait | null {
  const seq = wait?.seq;
  if (wait === null || seq === undefined) return wait;
  for (let index = records.length - 1; index >= 0; index -= 1) {
    const record = records.at(index);
    if (record === undefined || record.seq <= seq) return wait;
    if (record.kind !== "warning" && record.kind !== "operator") return null;
  }
  return wait;
}
