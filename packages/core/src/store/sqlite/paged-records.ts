import type { JournalRecord, Records } from "../../model/record.ts";

/** How many records all pages but the last hold. */
export const PAGE_RECORDS = 2_048;

/** Makes the records of a page. */
export type Page = () => readonly JournalRecord[];

/**
 * A long journal, of whose pages only the one that was asked for last is there as records: who goes through it holds a page and not the
 * whole, and leaves little to the collector that has to be moved about.
 */
export class PagedRecords implements Records {
  readonly length: number;
  readonly #pages: readonly Page[];
  /** The page that is there, and where it begins. */
  #page: readonly JournalRecord[] = [];
  #begin = 0;

  constructor(pages: readonly Page[], length: number) {
    this.#pages = pages;
    this.length = length;
  }

  at(index: number): JournalRecord | undefined {
    const place = index < 0 ? this.length + index : index;
    const record = this.#page[place - this.#begin];
    if (record !== undefined || place < 0 || place >= this.length) return record;
    this.#begin = place - (place % PAGE_RECORDS);
    this.#page = this.#pages[this.#begin / PAGE_RECORDS]?.() ?? [];
    return this.#page[place - this.#begin];
  }

  *[Symbol.iterator](): Generator<JournalRecord> {
    for (const page of this.#pages) yield* page();
  }
}
