import type { InTransaction } from "../../model/transition.ts";
import type { LetterRow, LetterTable, Tables, WorkerTable } from "../../rules/tables.ts";
import type { TransactionEnd } from "../../rules/transaction-scope.ts";
import { type KnownRows, RowsMissing, RowsToRead } from "./known-rows.ts";
import { StagedDocumentTable } from "./staged-documents.ts";
import {
  notInCommit,
  StagedInboxTable,
  StagedJournalTable,
  StagedRuns,
  StagedRunTable,
  type Trust,
} from "./staged-runs.ts";
import { StagedEventTable, StagedTopics, StagedTopicTable } from "./staged-topics.ts";

/**
 * The rows of one commit in this process: rules decide over the known rows, and the changes are collected and written at once.
 *
 * 1. Unknown rows are never guessed: `wanted` gets their keys, and the decision is discarded. Exceptions, if `Trust` is `optimistic`:
 *    an id counts as new, and a run that ends counts as having no open children. The database checks both.
 * 2. The database compares the `rev` of every run or topic that changes, and of every cached run that was used.
 */
export class Stage implements Tables {
  readonly wanted = new RowsToRead();
  readonly staged: StagedRuns;
  readonly stagedTopics: StagedTopics;
  readonly runs: StagedRunTable;
  readonly journal: StagedJournalTable;
  readonly inbox: StagedInboxTable;
  readonly topics: StagedTopicTable;
  readonly events: StagedEventTable;
  readonly letters: StagedLetterTable;
  readonly documents: StagedDocumentTable;
  readonly workers = new StagedWorkerTable();

  /** User code that has run and that the decision uses. */
  readonly codeUsed = new Set<InTransaction>();
  /** User code that must run before the decision. */
  codeWanted: InTransaction | null = null;
  readonly #ends: ReadonlyMap<InTransaction, TransactionEnd>;

  constructor(rows: KnownRows, trust: Trust, ends: ReadonlyMap<InTransaction, TransactionEnd>) {
    this.#ends = ends;
    this.staged = new StagedRuns(rows, this.wanted, trust);
    this.stagedTopics = new StagedTopics(this.staged);
    this.runs = new StagedRunTable(this.staged);
    this.journal = new StagedJournalTable(this.staged);
    this.inbox = new StagedInboxTable(this.staged);
    this.topics = new StagedTopicTable(this.staged, this.stagedTopics);
    this.events = new StagedEventTable(this.stagedTopics);
    this.letters = new StagedLetterTable(this.staged);
    this.documents = new StagedDocumentTable(this.staged);
  }

  /** Whether rows must be read or code must run before the decision. */
  get undecided(): boolean {
    return this.codeWanted !== null || this.wanted.size > 0;
  }

  /** Returns how the code ended. Async code runs before the decision, not inside it. */
  transact(code: InTransaction): TransactionEnd {
    const end = this.#ends.get(code);
    if (end !== undefined) {
      this.codeUsed.add(code);
      return end;
    }
    this.codeWanted ??= code;
    throw new RowsMissing();
  }
}

export class StagedLetterTable implements LetterTable {
  /** Null if the letter is removed. */
  readonly changes = new Map<string, LetterRow | null>();
  /** Ids of stored letters that are removed, even if a letter with the same id is inserted. */
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

  /** The database keeps a letter that exists already. */
  insert(letter: LetterRow): void {
    if (!this.changes.get(letter.id)) this.changes.set(letter.id, letter);
  }

  remove(id: string): void {
    if (this.#runs.rows.letters.get(id)) this.removed.add(id);
    this.changes.set(id, null);
  }

  removeBefore(): never {
    return notInCommit("letters.removeBefore");
  }
}

/** The commit function itself inserts missing workers. */
export class StagedWorkerTable implements WorkerTable {
  readonly needed = new Set<string>();

  expiresAt(): null {
    return null;
  }

  save(worker: string): void {
    this.needed.add(worker);
  }

  remove(): never {
    return notInCommit("workers.remove");
  }
  dead(): never {
    return notInCommit("workers.dead");
  }
}
