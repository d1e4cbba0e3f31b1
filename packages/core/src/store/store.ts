import type { DeadLetter, InboxEntry } from "../model/inbox.ts";
import type { JournalRecord, Records } from "../model/record.ts";
import type { Run, Status } from "../model/run.ts";
import type { Answer, StoredDocument, Transition, Wake } from "../model/transition.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type { ClaimRequest, Heartbeat, OwnedRun, Pruned, PruneRequest } from "../rules/tables.ts";

/**
 * Where rows live. A store applies; it decides nothing.
 *
 * 1. `commit` is one atomic, durable batch: its transitions are applied in order, each as a whole or not at all. A refused
 *    one is an answer and leaves no trace; those beside it are applied.
 * 2. Every transition may be sent again after an unknown outcome, and answers as it did the first time (`again: true`).
 * 3. A post that a run waits for makes the run ready (`wakeAt` = now) in the same commit; so does a wait that finds its
 *    message or event already there.
 * 4. All comparisons with the present use the store's own clock.
 * 5. A method that can't reach its database throws `StoreError`; nothing else is thrown for reasons of state.
 * 6. The code of a transition (`transaction`) is called inside the database transaction that applies it, when its guards have
 *    passed and before its records are written, with a handle on that transaction. If it throws, what it did is undone and the
 *    transition is refused (`threw`), with no harm to those beside it. It is not called for a transition that is refused or
 *    was applied before. The handle can neither end the transaction nor outlive the call. A store that can give none refuses
 *    with an error of code `TX_UNSUPPORTED`.
 */
export interface Store {
  /** Creates or migrates the schema. Called once, before anything else. */
  open(world: StoreWorld): Promise<void>;
  /** The store's clock, epoch ms; an estimate where the database is elsewhere. */
  now(): number;
  /** Whether `now` is the very clock that guards are compared with: then a deadline that has come here has come there. */
  readonly exactClock: boolean;
  /** Asks what time it is by the clock that guards are compared with. Left out: nobody is told but by guards, or `now` is that clock. */
  readClock?(): Promise<number>;
  /**
   * How code in a transition is run. `batched`: it does not wait, and is a part of its batch like any transition; if it returns
   * a promise, it is refused with code `TX_ASYNC`. `apart`: it may wait, so a transition with code is alone in its batch, and
   * `commit` is called with such batches while others are under way. The store runs each on a connection of its own: it checks the
   * guards, awaits the code, locks the run's row, checks again, writes, commits. The run adds nothing else meanwhile; others go on.
   */
  readonly transactions: "batched" | "apart";
  /**
   * How many transitions a commit is given at most, by a store that works beside this process: so this process goes on with what one
   * commit has answered while the next is under way. Left out: commits keep this process busy, and are as large as may be.
   */
  readonly batchMax?: number;
  /** How many runs that have something to commit, at least 1, keep it busy: more would get on no faster. Left out: 500. */
  readonly busyMax?: number;
  commit(batch: readonly Transition[]): Promise<Commit>;
  /**
   * Applies a batch inside a transaction that the caller has open on the same database: it is durable when the caller commits,
   * and never was when the caller rolls back. Throws an error of code `TX_INVALID`, and changes nothing, when `tx` is no such
   * transaction. Stores that don't have this take part in no transaction but their own.
   */
  commitWithin?(tx: unknown, batch: readonly Transition[]): Promise<Commit>;
  /**
   * Makes `worker` the owner of runs that are due and that nobody owns, oldest due first: epoch + 1, status `running`,
   * `claims` counted, `startedAt` set the first time. Only of `workflows`: a run of another version waits for who knows it.
   */
  claim(request: ClaimRequest): Promise<readonly Run[]>;
  /** The runs that `worker` owns and that are due (a deadline, or a post whose hint was lost). Changes nothing. */
  dueRuns(worker: string, limit: number): Promise<readonly DueRun[]>;
  /**
   * The runs that `worker` owns and that are `running`, with their epochs. Changes nothing. What the worker does not know of
   * (the answer to its claim was lost) it learns here, and what it has lost is missing.
   */
  ownedRunning(worker: string): Promise<readonly OwnedRun[]>;
  /** The earliest `wakeAt` among the runs that `worker` owns, or that nobody owns and that are of `workflows`; null if none has one. */
  nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null>;
  /** A run with its newest snapshot, the records after it (or after `afterSeq`) and what lies in its inbox. */
  load(runId: string, afterSeq?: number): Promise<Loaded | null>;
  /**
   * Says that `worker` lives for `leaseMs` more, and frees the runs of workers whose time is over, a bounded number. `workflows`
   * are those it can run, for people to see; left out, they stay as they were. The answer tells what a worker would ask next, so
   * that one at rest asks for nothing else.
   */
  heartbeat(worker: string, leaseMs: number, workflows?: readonly WorkflowRef[]): Promise<Heartbeat>;
  /** Ends a worker: its runs are free at once. */
  retire(worker: string): Promise<void>;
  /** Removes what is old, a bounded number of rows; says how many, so that the caller can go on. */
  prune(request: PruneRequest): Promise<Pruned>;
  /** Calls back when something may have changed by another process's hand. A hint: may come late, twice or never. */
  watch(listener: (hint: Hint) => void): () => void;
  close(): Promise<void>;
  readonly reader: Reader;
}

/** The part of the outside world that a store is given. */
export interface StoreWorld {
  now(): number;
  /** Calls back repeatedly, about every `ms`, until the returned function is called. */
  every(ms: number, callback: () => void): () => void;
}

export interface Commit {
  readonly answers: readonly Answer[];
  /** Runs that became ready in this commit. */
  readonly wakes: readonly Wake[];
}

/** A run that is due, and the number of the newest entry of its inbox: who has seen that needs to read nothing. */
export interface DueRun {
  readonly id: string;
  readonly inboxLast: number;
}

export interface Loaded {
  readonly run: Run;
  /** The document of kind `snapshot` whose id is the run's, if there is one; `seq` is its attribute `a`. */
  readonly snapshot: StoredDocument | null;
  /** In order of seq. */
  readonly records: Records;
  /** Those of kind `operator` among them. Left out: who needs them goes through all. */
  readonly acts?: readonly JournalRecord[];
  /** What has not been received, in order of arrival. */
  readonly inbox: readonly InboxEntry[];
}

/** Runs that may have changed; null: any may have. */
export interface Hint {
  readonly runIds: readonly string[] | null;
  /** Who owns each of `runIds`, at its place; null: nobody. Left out: the store does not tell. */
  readonly owners?: readonly (string | null)[];
  /**
   * Runs that have ended: nobody has to work on them, but someone may wait for their results. Left out: the store does not tell
   * of ends apart.
   */
  readonly ended?: readonly string[];
}

/** Reads for people and clients. Never part of a decision. */
export interface Reader {
  get(runId: string): Promise<Run | null>;
  /**
   * Newest first by (createdAt, id). A run created while one pages appears on no later page, unless it has the same
   * millisecond as the last run of the page.
   */
  list(query: ListQuery): Promise<Page<Run>>;
  count(query: Omit<ListQuery, "limit" | "cursor">): Promise<number>;
  journal(runId: string, query: JournalQuery): Promise<readonly JournalRecord[]>;
  inbox(runId: string): Promise<readonly InboxEntry[]>;
  children(runId: string, query: PageQuery): Promise<Page<Run>>;
  deadLetters(query: PageQuery): Promise<Page<DeadLetter>>;
  deadLetter(id: string): Promise<DeadLetter | null>;
  /** By (kind, id); `where` compares attributes for equality. */
  documents(query: DocumentQuery): Promise<Page<StoredDocument>>;
  document(kind: string, id: string): Promise<StoredDocument | null>;
  workers(): Promise<readonly WorkerRow[]>;
}

export interface JournalQuery {
  readonly afterSeq: number;
  readonly limit: number;
  /** The last records, from the newest down. Left out: from the oldest up. */
  readonly newestFirst?: boolean;
}

export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

export interface ListQuery extends PageQuery {
  readonly status?: readonly Status[];
  readonly workflow?: string;
  readonly tag?: string;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
}

export interface DocumentQuery extends PageQuery {
  readonly kind: string;
  readonly where?: StoredDocument["attributes"];
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Null: this was the last page. */
  readonly cursor: string | null;
}

export interface WorkerRow {
  readonly id: string;
  readonly expiresAt: number;
  /** What it can run. */
  readonly workflows: readonly WorkflowRef[];
}
