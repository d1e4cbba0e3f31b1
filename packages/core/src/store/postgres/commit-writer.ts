import type { InTransaction } from "../../model/transition.ts";
import { Batch } from "../../rules/batch.ts";
import type { TransactionEnd } from "../../rules/transaction-scope.ts";
import { StoreError } from "../store-error.ts";
import { toColumn } from "../text-column.ts";
import {
  APPEND_CALL,
  appendValues,
  COMMIT_CALL,
  COMMIT_CHECKED_CALL,
  COMMIT_DOCUMENTS_CALL,
  commitValues,
} from "./commit-arguments.ts";
import type { Connection, Database } from "./database.ts";
import { isConflict } from "./errors.ts";
import { KnownRows, RowsToRead } from "./known-rows.ts";
import {
  documentsValues,
  LOCK_CALL,
  learnDocuments,
  learnRows,
  ROWS_CALL,
  type RowsAnswer,
  rowsValues,
} from "./read-rows.ts";
import type { HeadCache } from "./row-cache.ts";
import type { DocumentColumns } from "./run-rows.ts";
import { Stage } from "./stage.ts";
import type { Trust } from "./staged-runs.ts";
import { STORE_SQL } from "./statements.ts";

/** Decides over the known rows. It may be called repeatedly and has no side effect. */
export type Decide<Result> = (batch: Batch, stage: Stage) => Decision<Result>;

export interface Decision<Result> {
  readonly result: Result;
  /** The latest deadline that the decision depends on. Null if none. */
  readonly notBefore: number | null;
  /** Payloads of notifications that this commit sends: only those of a caller's transaction, whose end this process does not see. */
  readonly hints: readonly string[];
}

export interface CommitWriterParts {
  readonly database: Database;
  readonly cache: HeadCache;
  readonly channel: string;
  /** The current time, as this process estimates it. */
  readonly now: () => number;
  /** The current time if the process clock counts. Null if the clock of the database does. */
  readonly fixedNow: () => number | null;
  readonly onServerTime: (present: number) => void;
}

const NO_CODE: ReadonlyMap<InTransaction, TransactionEnd> = new Map();

export interface Decided<Result> {
  readonly stage: Stage;
  /** Null if rows must be read or user code must run first. */
  readonly decision: Decision<Result> | null;
  /** An error that deciding threw. Over cached rows it may only mean that they are stale. */
  readonly failure: { readonly error: unknown } | null;
}

/** How many conflicts, and how many rounds of reads, one commit may have. */
const CONFLICTS_MAX = 100;
const ROUNDS_MAX = 100;

/** For transactions that lock rows: a process that is stopped in the middle must not block others for ever. */
export const SHORT_TIMEOUTS = "SET LOCAL idle_in_transaction_session_timeout = 15000; SET LOCAL lock_timeout = 15000";

/**
 * Decides and writes commits, and repeats both until the decision matches the stored rows.
 *
 * 1. The first attempt decides over cached rows and reads the missing ones. One call writes it if every row has the `rev` that was
 *    seen. Otherwise the rows are locked in one order, read, decided again and written in the same transaction. The holder of the locks
 *    always finishes.
 * 2. A decision that was made while rows were missing is discarded.
 * 3. No record is written twice. A commit adds records without raising `rev` only if the run is `firm`: the rows are those that this
 *    process's last commit or claim left, and one commit of it runs at a time. Any other commit that adds records (for example after a
 *    lost answer) checks under the lock that they do not exist, and raises `rev`. So an earlier call that arrives late is refused.
 */
export class CommitWriter {
  readonly #parts: CommitWriterParts;

  constructor(parts: CommitWriterParts) {
    this.#parts = parts;
  }

  get database(): Database {
    return this.#parts.database;
  }

  async write<Result>(decide: Decide<Result>): Promise<Result> {
    try {
      const toRead = new RowsToRead();
      const first = await this.#writeOptimistically(decide, toRead);
      return first === null ? await this.#writeLocked(decide, toRead) : first.result;
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Removes runs from the cache: these, or all. */
  forget(runIds?: Iterable<string>): void {
    const { cache } = this.#parts;
    if (runIds === undefined) cache.clear();
    else for (const runId of runIds) cache.delete(runId);
  }

  decide<Result>(
    rows: KnownRows,
    trust: Trust,
    decide: Decide<Result>,
    ends: ReadonlyMap<InTransaction, TransactionEnd> = NO_CODE,
  ): Decided<Result> {
    const { now, fixedNow } = this.#parts;
    const stage = new Stage(rows, trust, ends);
    const batch = new Batch(stage, fixedNow() ?? rows.now ?? now());
    try {
      const decision = decide(batch, stage);
      return { stage, decision: stage.undecided ? null : decision, failure: null };
    } catch (error) {
      return { stage, decision: null, failure: { error } };
    }
  }

  async lock(connection: Connection, toRead: RowsToRead): Promise<void> {
    const locks = [[...toRead.topics.keys()].map(toColumn), [...toRead.runs].map(toColumn)];
    await connection.query(LOCK_CALL, locks);
  }

  /** Reads the rows, on this connection or on any. */
  async read(connection: Connection | null, rows: KnownRows, toRead: RowsToRead): Promise<void> {
    const { onServerTime } = this.#parts;
    const answer = (await this.#call(connection, ROWS_CALL, rowsValues(toRead, this.#parts.fixedNow()))) as RowsAnswer;
    learnRows(rows, toRead, answer);
    if (toRead.documents.size > 0) {
      const found = await this.#call(connection, STORE_SQL.documentsOf, documentsValues(toRead));
      learnDocuments(rows, toRead, found as readonly DocumentColumns[] | null);
    }
    onServerTime(answer.now);
  }

  /** Writes a decision and returns the time of the write. Null if a row has changed; nothing was written then. */
  async send(connection: Connection | null, stage: Stage, decision: Decision<unknown>): Promise<number | null> {
    const { channel, fixedNow, now } = this.#parts;
    if (isEmpty(stage)) return now();
    const isSure = raiseRevs(stage);
    const { notBefore, hints } = decision;
    const alone = notBefore === null && hints.length === 0 ? appendValues(stage, fixedNow()) : null;
    if (alone !== null) return (await this.#call(connection, APPEND_CALL, alone)) as number | null;
    const values = commitValues(stage, { now: fixedNow(), notBefore, channel, hints });
    const plainCall = isSure ? COMMIT_CALL : COMMIT_CHECKED_CALL;
    const call = stage.documents.isPlain ? plainCall : COMMIT_DOCUMENTS_CALL;
    return (await this.#call(connection, call, values)) as number | null;
  }

  /** Returns null after a conflict. `toRead` then has every row that was used. */
  async #writeOptimistically<Result>(decide: Decide<Result>, toRead: RowsToRead): Promise<Decision<Result> | null> {
    const { cache } = this.#parts;
    const rows = new KnownRows(cache);
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const { stage, decision, failure } = this.decide(rows, "optimistic", decide);
      if (failure !== null) return null;
      for (const { head, touched } of stage.staged.all()) if (touched) toRead.runs.add(head.id);
      if (decision === null) {
        toRead.add(stage.wanted);
        await this.read(null, rows, stage.wanted);
        continue;
      }
      try {
        const present = await this.send(null, stage, decision);
        if (present !== null) return this.#rememberWritten(stage, decision, present);
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
      for (const { head } of stage.staged.all()) cache.delete(head.id);
      return null;
    }
    throw new Error(`a commit still needs more rows after ${ROUNDS_MAX} reads`);
  }

  async #writeLocked<Result>(decide: Decide<Result>, toRead: RowsToRead): Promise<Result> {
    for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
      const done = await this.database.use((connection) => this.#attemptLocked(connection, decide, toRead));
      if (done !== null) return done.result;
    }
    throw new StoreError("STORE_BUSY", "notApplied", `the commit had ${CONFLICTS_MAX} conflicts with other writers`);
  }

  /** Returns null if it must be retried: more rows must be locked, or an id was inserted meanwhile. */
  async #attemptLocked<Result>(
    connection: Connection,
    decide: Decide<Result>,
    toRead: RowsToRead,
  ): Promise<Decision<Result> | null> {
    const rows = new KnownRows(null);
    await connection.query(`BEGIN; ${SHORT_TIMEOUTS}`);
    try {
      await this.lock(connection, toRead);
      await this.read(connection, rows, toRead);
      const { stage, decision, failure } = this.decide(rows, "verified", decide);
      if (failure !== null) throw failure.error;
      for (const runId of rows.runs.keys()) toRead.runs.add(runId);
      toRead.add(stage.wanted);
      const present = decision === null ? null : await this.send(connection, stage, decision);
      if (decision === null || present === null) {
        await connection.query("ROLLBACK");
        return null;
      }
      const { command } = await connection.query("COMMIT");
      return command === "COMMIT" ? this.#rememberWritten(stage, decision, present) : null;
    } catch (error) {
      await connection.rollBack();
      if (isConflict(error)) return null;
      throw error;
    }
  }

  async #call(connection: Connection | null, text: string, values: readonly unknown[]): Promise<unknown> {
    return connection === null ? this.database.call(text, values) : connection.call(text, values);
  }

  #rememberWritten<Result>(stage: Stage, decision: Decision<Result>, present: number): Decision<Result> {
    const { cache, onServerTime } = this.#parts;
    for (const run of stage.staged.all()) cache.learn(run);
    onServerTime(present);
    return decision;
  }
}

/** Raises the `rev` of runs that get records and are not firm. Returns true if there are none. */
function raiseRevs({ staged }: Stage): boolean {
  let isSure = true;
  for (const { known, head, records } of staged.all()) {
    if (known === null || known.firm || records.length === 0) continue;
    staged.save(head);
    isSure = false;
  }
  return isSure;
}

/** Whether there is nothing to write or compare. */
function isEmpty({ staged, stagedTopics, letters, documents }: Stage): boolean {
  for (const { touched, compared } of staged.all()) if (touched || compared) return false;
  return stagedTopics.changes.size + letters.changes.size + documents.changes.size + documents.closed.size === 0;
}
