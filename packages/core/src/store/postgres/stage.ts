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
 * The rows of one commit, in this process: decided over what is known of them, and gathered to be written at once.
 *
 * 1. What is not known is never guessed: `wanted` says what to read, and whatever was decided meanwhile is thrown away. The
 *    one exception is what the database itself refuses the commit for if it is not so (`trusting`): an id is taken to be new, a
 *    run that ends to have no open children.
 * 2. A run or topic whose rows change is among those that the database compares by `rev` before it writes; so is every run
 *    that is remembered and not read, even where it was only looked at.
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

  /** Code that was run before, and that the decision rests on. */
  readonly codeUsed = new Set<InTransaction>();
  /** Code that has to be run before this can be decided. */
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

  /** Whether something has to be read or run before this can be decided. */
  get undecided(): boolean {
    return this.codeWanted !== null || this.wanted.size > 0;
  }

  /** Code that may wait has been run before: this says how it ended. */
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
    return notInCommit("letters.removeBefore");
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
    return notInCommit("workers.remove");
  }
  dead(): never {
    return notInCommit("workers.dead");
  }
}
