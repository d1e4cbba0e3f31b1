import type { InTransaction } from "../../model/transition.ts";
import type { Tables } from "../tables.ts";
import { type TransactionEnd, TxDesk } from "../tx-desk.ts";
import type { Cells } from "./cell.ts";
import { MemoryEventTable } from "./event-table.ts";
import { MemoryChanges } from "./memory-tx.ts";
import { MemoryDocumentTable, MemoryLetterTable, MemoryWorkerTable } from "./plain-tables.ts";
import { MemoryInboxTable, MemoryJournalTable, MemoryTopicTable } from "./run-belongings.ts";
import { MemoryRunTable } from "./run-table.ts";

/** The rows as maps, with what is needed to find things in them without looking at all of them. */
export class MemoryTables implements Tables {
  readonly cells: Cells = new Map();
  readonly runs = new MemoryRunTable(this.cells);
  readonly journal = new MemoryJournalTable(this.cells);
  readonly inbox = new MemoryInboxTable(this.cells);
  readonly topics = new MemoryTopicTable(this.cells);
  readonly events = new MemoryEventTable(this.cells);
  readonly letters = new MemoryLetterTable();
  readonly documents = new MemoryDocumentTable();
  readonly workers = new MemoryWorkerTable();
  /** What transactions have kept. */
  readonly data = new Map<string, unknown>();

  transact(code: InTransaction): TransactionEnd {
    const desk = new TxDesk();
    const changes = new MemoryChanges(this.data, desk);
    const end = desk.run(code, changes.tx);
    if (end.kind === "returned") changes.keep();
    return end;
  }
}
