import type { JournalRecord } from "../model/record.ts";

/** The recorded part of a run, read once from front to back. */
export class JournalCursor {
  #records: readonly JournalRecord[];
  #index = 0;

  constructor(records: readonly JournalRecord[]) {
    this.#records = records;
  }

  get next(): JournalRecord | null {
    return this.#records[this.#index] ?? null;
  }

  get done(): boolean {
    return this.#index >= this.#records.length;
  }

  advance(): void {
    this.#index += 1;
    // A hot session holds no history.
    if (this.done) {
      this.#records = [];
      this.#index = 0;
    }
  }
}
