import type { LetterRow, LetterTable, WorkerTable } from "../tables.ts";
import { RowsMissing } from "./known-rows.ts";
import { neverAsked } from "./never-asked.ts";
import type { StagedRuns } from "./staged-run.ts";

export class StagedLetterTable implements LetterTable {
  /** Null: it was there and goes. */
  readonly changes = new Map<string, LetterRow | null>();
  /** Ids of those that were there and go, even if one of the same id comes. */
  readonly removed = new Set<string>();
  readonly #runs: StagedRuns;

  constructor(runs: StagedRuns) {
    this.#runs = runs;
  }

  get(id: string): LetterRow | null {
    const change = this.changes.get(id);
    if (change !== undefined) return change;
    const known = this.#runs.rows.letters.get(id);
    if (known !== undefined) return known;
    this.#runs.wanted.letters.add(id);
    throw new RowsMissing();
  }

  /** The database leaves one that is there already as it is. */
  insert(letter: LetterRow): void {
    if (!this.changes.get(letter.id)) this.changes.set(letter.id, letter);
  }

  remove(id: string): void {
    if (this.#runs.rows.letters.get(id)) this.removed.add(id);
    this.changes.set(id, null);
  }

  removeBefore(): never {
    return neverAsked("letters.removeBefore");
  }
}

/** Whether a worker has a row is seen by the database when the commit comes to it. */
export class StagedWorkerTable implements WorkerTable {
  readonly needed = new Set<string>();

  expiresAt(): null {
    return null;
  }

  save(worker: string): void {
    this.needed.add(worker);
  }

  remove(): never {
    return neverAsked("workers.remove");
  }
  dead(): never {
    return neverAsked("workers.dead");
  }
}
