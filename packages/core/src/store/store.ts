import type { DeadLetter, InboxEntry } from "../model/inbox.ts";
import type { JournalRecord, Records } from "../model/record.ts";
import type { Run, Status } from "../model/run.ts";
import type { Answer, StoredDocument, Transition, Wake } from "../model/transition.ts";
import type { WorkflowRef } from "../model/workflow-ref.ts";
import type {
  ClaimedRun,
  ClaimRequest,
  Heartbeat,
  LapsedRun,
  OwnedRun,
  Pruned,
  PruneRequest,
} from "../rules/tables.ts";

/**
 * Where rows live. A store applies transitions; it decides nothing.
 *
 * 1. `commit` is one atomic, durable batch. Its transitions are applied in order, each as a whole or not at all. A refused transition is
 *    an answer and leaves no trace; the others are applied.
 * 2. Every transition can be sent again after an unknown outcome, and gets the same answer as the first time (`again: true`).
 * 3. A post that a run waits for makes the run ready (`wakeAt` = now) in the same commit. So does a wait whose message or event has
 *    already arrived.
 * 4. All comparisons with the current time use the store's own clock.
 * 5. A method that cannot reach its database throws `StoreError`. Nothing else is thrown because of the stored state.
 * 6. The code of a transition (`transaction`) is called inside the database transaction that applies it, after its guards have passed and
 *    before its records are written, with a handle on that transaction. If it throws, its writes are undone and the transition is
 *    refused (`threw`); the others are not affected. It is not called for a transition that is refused or was applied before. The
 *    handle cannot end the transaction or outlive the call. A store without transactions refuses with code `TX_UNSUPPORTED`.
 */
export interface Store {
  /** Creates or migrates the schema. Called once, before anything else. */
  open(world: StoreWorld): Promise<void>;
  /** The store's clock in epoch ms. An estimate if the database is remote. */
  now(): number;
  /** Whether `now` is the clock that guards are compared with, and not an estimate of it. */
  readonly exactClock: boolean;
  /** Reads the clock that guards are compared with. Omitted if `now` is that clock, or if the store cannot report it. */
  readClock?(): Promise<number>;
  /**
   * How the code of a transition runs.
   * - `batched`: synchronously, as a part of its batch. Code that returns a promise is refused with `TX_ASYNC`.
   * - `apart`: it may be asynchronous. A transition with code is alone in its batch, and `commit` is called for such batches in parallel.
   *   The store uses a separate connection for each: it checks the guards, awaits the code, locks the run's row, checks again, writes
   *   and commits. The run appends nothing else meanwhile; other runs continue.
   */
  readonly transactions: "batched" | "apart";
  /**
   * The most transitions per commit, set by a store that works in another process: this process then handles the answers of one commit
   * while the next is in flight. Omitted if commits keep this process busy; batches are then as large as possible.
   */
  readonly batchMax?: number;
  /** How many active runs keep the store busy, at least 1. More would not be faster. Default 500. */
  readonly busyMax?: number;
  commit(batch: readonly Transition[]): Promise<Commit>;
  /**
   * Applies a batch inside a transaction that the caller has open on the same database. The batch is durable when the caller commits, and
   * has no effect when the caller rolls back. Throws `TX_INVALID` and changes nothing if `tx` is no such transaction. Omitted by stores
   * that cannot join a caller's transaction.
   */
  commitWithin?(tx: unknown, batch: readonly Transition[]): Promise<Commit>;
  /**
   * Makes `worker` the owner of due runs without an owner, longest due first: epoch + 1, status `running`, `claims` counted,
   * `startedAt` set the first time. Claims only runs of `workflows`; a run of another version waits for a worker that has it. Of the
   * suspects it claims a group (`SuspectLimit`), and reports which runs are in it.
   */
  claim(request: ClaimRequest): Promise<readonly ClaimedRun[]>;
  /** Returns runs owned by `worker` that are due: a deadline passed, or a post arrived and its hint was lost. Read-only. */
  dueRuns(worker: string, limit: number): Promise<readonly DueRun[]>;
  /**
   * Returns the `running` runs owned by `worker`, with their epochs. Read-only. The worker compares the result with its sessions: an
   * extra run is a claim whose reply was lost, a missing run has another owner.
   */
  ownedRunning(worker: string): Promise<readonly OwnedRun[]>;
  /** Returns the earliest `wakeAt` of the runs that `worker` owns, and of runs of `workflows` without an owner. Null if there is none. */
  nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null>;
  /**
   * Returns a run with its newest snapshot, the records after it (or after `afterSeq`) and its inbox (or the entries after number
   * `afterEntry`). The cost does not depend on the records and entries that are omitted.
   */
  load(runId: string, afterSeq?: number, afterEntry?: number): Promise<Loaded | null>;
  /**
   * Extends the lease of `worker` by `leaseMs`, and frees runs of expired workers, a bounded number per call. `workflows` is shown to
   * operators; if omitted, the stored list is kept. The reply includes what a poll would return, so an idle worker makes no other call.
   *
   * A worker keeps the runs that it owns, even if its lease had expired. It passes the runs that it executes as `lapsed` if its lease may
   * have expired: those that were freed and not claimed since are its own again, in the same epoch.
   */
  heartbeat(
    worker: string,
    leaseMs: number,
    workflows?: readonly WorkflowRef[],
    lapsed?: readonly LapsedRun[],
  ): Promise<Heartbeat>;
  /** Ends a worker, and frees its runs at once. */
  retire(worker: string): Promise<void>;
  /** Deletes expired rows, at most `request.limit` of each kind per call. Returns the counts; call again until `done`. */
  prune(request: PruneRequest): Promise<Pruned>;
  /** Calls `listener` when another process may have changed something. A hint may be late, repeated or lost. */
  watch(listener: (hint: Hint) => void): () => void;
  close(): Promise<void>;
  readonly reader: Reader;
}

/** The part of the outside world that a store uses. */
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

/** A due run, and the number of its newest inbox entry. A session that has seen that entry needs no load. */
export interface DueRun {
  readonly id: string;
  readonly inboxLast: number;
}

export interface Loaded {
  readonly run: Run;
  /** The document of kind `snapshot` with the run's id. Its attribute `a` is the seq. Null if there is none. */
  readonly snapshot: StoredDocument | null;
  /** In order of seq. */
  readonly records: Records;
  /** The records of kind `operator` among them. If omitted, readers search all records. */
  readonly operatorRecords?: readonly JournalRecord[];
  /** Entries that the run has not received, in order of arrival. */
  readonly inbox: readonly InboxEntry[];
}

/** Runs that may have changed. */
export interface Hint {
  /** Null if any run may have changed. */
  readonly runIds: readonly string[] | null;
  /** The owner of each of `runIds`, null if it has none. Omitted if the store does not report owners. */
  readonly owners?: readonly (string | null)[];
  /**
   * Runs that have ended. No worker needs them, but a caller may wait for their results. Omitted if the store does not report ends
   * separately.
   */
  readonly ended?: readonly string[];
}

/** Reads for operators and clients. No decision depends on them. */
export interface Reader {
  get(runId: string): Promise<Run | null>;
  /** Returns the ids of those of these runs that have ended. Omitted by stores whose hints name the runs that end. */
  ended?(runIds: readonly string[]): Promise<readonly string[]>;
  /**
   * Newest first by (createdAt, id). A run created between two pages does not appear on the later one, unless it has the same
   * millisecond as the last run of the earlier page.
   */
  list(query: ListQuery): Promise<Page<Run>>;
  count(query: Omit<ListQuery, "limit" | "cursor">): Promise<number>;
  journal(runId: string, query: JournalQuery): Promise<readonly JournalRecord[]>;
  inbox(runId: string): Promise<readonly InboxEntry[]>;
  children(runId: string, query: PageQuery): Promise<Page<Run>>;
  deadLetters(query: PageQuery): Promise<Page<DeadLetter>>;
  deadLetter(id: string): Promise<DeadLetter | null>;
  /** Sorted by (kind, id). `where` compares attributes for equality. */
  documents(query: DocumentQuery): Promise<Page<StoredDocument>>;
  document(kind: string, id: string): Promise<StoredDocument | null>;
  workers(): Promise<readonly WorkerRow[]>;
}

export interface JournalQuery {
  readonly afterSeq: number;
  readonly limit: number;
  /** True returns the newest records first. Default: the oldest first. */
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
  /** Null if this was the last page. */
  readonly cursor: string | null;
}

export interface WorkerRow {
  readonly id: string;
  readonly expiresAt: number;
  /** The workflows that it executes. */
  readonly workflows: readonly WorkflowRef[];
}
