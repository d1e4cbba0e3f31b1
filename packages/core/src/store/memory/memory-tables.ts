import type { InTransaction } from "../../model/transition.ts";
import type { Tables } from "../tables.ts";
import { type TransactionEnd, TxDesk } from "../tx-desk.ts";
import type { Cells } from "./cell.ts";
import { MemoryEventTable } from "./event-table.ts";
import { MemoryChanges } from "./memory-tx.ts";
import { MemoryDocumentTable, MemoryLetterTable, MemoryWorkerTable } from "./plain-tables.ts";
import { MemoryInboxTable, MemoryJournalTable, MemoryTopicTable } from "./run-belongings.ts";
import { MemoryRunTable } from "./run-table.ts";

/** The largest numbers that rows have had. */
export interface UsedNumbers {
  readonly runs: number;
  readonly events: number;
  readonly letters: number;
}

/** The rows as maps, with what is needed to find things in them without looking at all of them. */
export class MemoryTables implements Tables {
  readonly cells: Cells = new Map();
  readonly runs: MemoryRunTable;
  readonly journal = new MemoryJournalTable(this.cells);
  readonly inbox = new MemoryInboxTable(this.cells);
  readonly topics = new MemoryTopicTable(this.cells);
  readonly events: MemoryEventTable;
  readonly letters: MemoryLetterTable;
  readonly documents = new MemoryDocumentTable();
  readonly workers = new MemoryWorkerTable();
  /** What transactions have kept. */
  readonly data = new Map<string, unknown>();

  /** Numbers that were used before are not used again. */
  constructor(used: UsedNumbers = { runs: 0, events: 0, letters: 0 }) {
    this.runs = new MemoryRunTable(this.cells, used.runs);
    this.events = new MemoryEventTable(this.cells, used.events);
    this.letters = new MemoryLetterTable(used.letters);
  }

  transact(code: InTransaction): TransactionEnd {
    return this.transactNoting(code, { check: () => undefined, note: () => undefined });
  }

  /** As `transact`; has each value checked, and tells which keys were changed. */
  transactNoting(
    code: InTransaction,
    { check, note }: { check(key: string, value: unknown): void; note(key: string): void },
  ): TransactionEnd {
    const desk = new TxDesk();
    const changes = new MemoryChanges(this.data, desk, check);
    const end = desk.run(code, changes.tx);
    if (end.kind === "returned") for (const key of changes.keep()) note(key);
    return end;
  }
}
