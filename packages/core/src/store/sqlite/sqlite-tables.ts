import type { InTransaction } from "../../model/transition.ts";
import type { Tables } from "../../rules/tables.ts";
import type { TransactionEnd } from "../../rules/transaction-scope.ts";
import { SqliteDocumentTable } from "./document-table.ts";
import type { SqliteDatabase } from "./driver.ts";
import { SqliteEventTable, SqliteTopicTable } from "./event-table.ts";
import { cacheOf, type HeadCache } from "./head-cache.ts";
import { SqliteInboxTable } from "./inbox-table.ts";
import { JournalPages } from "./journal-pages.ts";
import { SqliteJournalTable } from "./journal-table.ts";
import { SqliteLetterTable } from "./letter-table.ts";
import { SqliteRunList } from "./run-list.ts";
import { SqliteRunTable } from "./run-table.ts";
import { SqliteTransactions } from "./transactions.ts";
import { SqliteWorkerTable } from "./worker-table.ts";

/** The rows as tables of a database, each with its prepared statements. */
export class SqliteTables implements Tables {
  readonly runs: SqliteRunTable;
  readonly journal: SqliteJournalTable;
  readonly pages: JournalPages;
  readonly inbox: SqliteInboxTable;
  readonly topics: SqliteTopicTable;
  readonly events: SqliteEventTable;
  readonly letters: SqliteLetterTable;
  readonly documents: SqliteDocumentTable;
  readonly workers: SqliteWorkerTable;
  readonly list: SqliteRunList;
  readonly #cache: HeadCache;
  readonly #transactions: SqliteTransactions;

  constructor(database: SqliteDatabase) {
    this.#cache = cacheOf(database);
    this.runs = new SqliteRunTable(database, this.#cache);
    this.journal = new SqliteJournalTable(database, this.#cache, () => this.runs.flush());
    this.pages = new JournalPages(database);
    this.inbox = new SqliteInboxTable(database, this.#cache);
    this.topics = new SqliteTopicTable(database);
    this.events = new SqliteEventTable(database, () => this.inbox.flush());
    this.letters = new SqliteLetterTable(database);
    this.documents = new SqliteDocumentTable(database);
    this.workers = new SqliteWorkerTable(database);
    this.list = new SqliteRunList(database);
    this.#transactions = new SqliteTransactions(database);
  }

  /** User code may call the engine inside this transaction, so buffered rows are written first. */
  transact(code: InTransaction): TransactionEnd {
    this.flush();
    return this.#transactions.run(code);
  }

  /** Called when a transaction has the write lock. `version` is the `data_version` of the database. */
  begun(version: number): void {
    this.#cache.open(version);
  }

  /** Writes all buffered rows, before the commit. */
  flush(): void {
    this.runs.flush();
    this.journal.flush();
    this.inbox.flush();
  }

  /** Discards all buffered rows. */
  drop(): void {
    this.runs.drop();
    this.journal.drop();
    this.inbox.drop();
  }

  ended(end: "committed" | "rolledBack"): void {
    this.drop();
    this.#cache.close(end);
  }
}
