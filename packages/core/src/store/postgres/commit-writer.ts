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

/** What is decided over the rows as they are known. It may be called again and again: it has no effect of its own. */
export type Decide<Result> = (batch: Batch, stage: Stage) => Decision<Result>;

export interface Decision<Result> {
  readonly result: Result;
  /** The latest deadline that it rests on. */
  readonly notBefore: number | null;
  /** What to tell other processes. */
  readonly hints: readonly string[];
}

export interface CommitWriterParts {
  readonly database: Database;
  readonly cache: HeadCache;
  readonly channel: string;
  /** The present, as far as it is known here. */
  readonly now: () => number;
  /** The present to compare with, where it is not the database's clock that counts. */
  readonly fixedNow: () => number | null;
  readonly heard: (present: number) => void;
}

const NO_CODE: ReadonlyMap<InTransaction, TransactionEnd> = new Map();

export interface Decided<Result> {
  readonly stage: Stage;
  /** Null: something has to be read or run first. */
  readonly decision: Decision<Result> | null;
  /** What can't be, unless what is remembered is wrong. */
  readonly doubt: { readonly error: unknown } | null;
}

/** How often a commit may find that others were faster, and how often it may find that it needs to know more. */
const CONFLICTS_MAX = 100;
const ROUNDS_MAX = 100;

/** For a transaction that has locked rows, or is about to: one that is stopped in the middle must not keep others waiting for ever. */
export const BRIEFLY = "SET LOCAL idle_in_transaction_session_timeout = 15000; SET LOCAL lock_timeout = 15000";

/**
 * Decides and writes, until what was decided is what was true.
 *
 * 1. First over what is remembered, and what has to be read: one call writes it, if every row is as it was seen. Else
 *    everything is locked, in one order, read and decided again, and written in the same transaction: the one that holds the
 *    locks comes to its end.
 * 2. What is decided without knowing enough is thrown away.
 * 3. No record is written twice. A commit adds to a journal and leaves the row's `rev` as it was only over what the commit before, or
 *    a claim, has left, and one is under way at a time. Whoever else adds records (after an answer that was lost, too) looks under
 *    the lock that they are not there, and raises `rev`: what was sent before and comes later is refused.
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
      const asked = new RowsToRead();
      const first = await this.#trusting(decide, asked);
      return first === null ? await this.#locking(decide, asked) : first.result;
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** What is remembered may be wrong: of these, or of all. */
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
      return { stage, decision: stage.undecided ? null : decision, doubt: null };
    } catch (error) {
      return { stage, decision: null, doubt: { error } };
    }
  }

  async lock(connection: Connection, asked: RowsToRead): Promise<void> {
    const locks = [[...asked.topics.keys()].map(toColumn), [...asked.runs].map(toColumn)];
    await connection.query(LOCK_CALL, locks);
  }

  /** Reads what is asked for, on this connection or on any. */
  async read(connection: Connection | null, rows: KnownRows, asked: RowsToRead): Promise<void> {
    const { heard } = this.#parts;
    const answer = (await this.#call(connection, ROWS_CALL, rowsValues(asked, this.#parts.fixedNow()))) as RowsAnswer;
    learnRows(rows, asked, answer);
    if (asked.documents.size > 0) {
      const found = await this.#call(connection, STORE_SQL.documentsOf, documentsValues(asked));
      learnDocuments(rows, asked, found as readonly DocumentColumns[] | null);
    }
    heard(answer.now);
  }

  /** Writes it, and gives the time of that; null: a row has changed, and nothing was written. */
  async send(connection: Connection | null, stage: Stage, decision: Decision<unknown>): Promise<number | null> {
    const { channel, fixedNow, now } = this.#parts;
    if (isEmpty(stage)) return now();
    const isSure = raiseUnsure(stage);
    const { notBefore, hints } = decision;
    const alone = notBefore === null && hints.length === 0 ? appendValues(stage, fixedNow()) : null;
    if (alone !== null) return (await this.#call(connection, APPEND_CALL, alone)) as number | null;
    const values = commitValues(stage, { now: fixedNow(), notBefore, channel, hints });
    const plainCall = isSure ? COMMIT_CALL : COMMIT_CHECKED_CALL;
    const call = stage.documents.isPlain ? plainCall : COMMIT_DOCUMENTS_CALL;
    return (await this.#call(connection, call, values)) as number | null;
  }

  /** Null: others were faster. `asked` has all that was looked for. */
  async #trusting<Result>(decide: Decide<Result>, asked: RowsToRead): Promise<Decision<Result> | null> {
    const { cache } = this.#parts;
    const rows = new KnownRows(cache);
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const { stage, decision, doubt } = this.decide(rows, "trusting", decide);
      if (doubt !== null) return null;
      for (const { head, touched } of stage.staged.all()) if (touched) asked.runs.add(head.id);
      if (decision === null) {
        asked.add(stage.wanted);
        await this.read(null, rows, stage.wanted);
        continue;
      }
      try {
        const present = await this.send(null, stage, decision);
        if (present !== null) return this.#written(stage, decision, present);
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
      for (const { head } of stage.staged.all()) cache.delete(head.id);
      return null;
    }
    throw new Error(`a commit wants to know more and more after ${ROUNDS_MAX} rounds`);
  }

  async #locking<Result>(decide: Decide<Result>, asked: RowsToRead): Promise<Result> {
    for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
      const done = await this.database.use((connection) => this.#locked(connection, decide, asked));
      if (done !== null) return done.result;
    }
    throw new StoreError("STORE_BUSY", "notApplied", `others were faster ${CONFLICTS_MAX} times`);
  }

  /** Null: it has to be tried again, with more locks or because of an id that came meanwhile. */
  async #locked<Result>(
    connection: Connection,
    decide: Decide<Result>,
    asked: RowsToRead,
  ): Promise<Decision<Result> | null> {
    const rows = new KnownRows(null);
    await connection.query(`BEGIN; ${BRIEFLY}`);
    try {
      await this.lock(connection, asked);
      await this.read(connection, rows, asked);
      const { stage, decision, doubt } = this.decide(rows, "careful", decide);
      if (doubt !== null) throw doubt.error;
      for (const runId of rows.runs.keys()) asked.runs.add(runId);
      asked.add(stage.wanted);
      const present = decision === null ? null : await this.send(connection, stage, decision);
      if (decision === null || present === null) {
        await connection.query("ROLLBACK");
        return null;
      }
      const { command } = await connection.query("COMMIT");
      return command === "COMMIT" ? this.#written(stage, decision, present) : null;
    } catch (error) {
      await connection.rollBack();
      if (isConflict(error)) return null;
      throw error;
    }
  }

  async #call(connection: Connection | null, text: string, values: readonly unknown[]): Promise<unknown> {
    return connection === null ? this.database.call(text, values) : connection.call(text, values);
  }

  #written<Result>(stage: Stage, decision: Decision<Result>, present: number): Decision<Result> {
    const { cache, heard } = this.#parts;
    for (const run of stage.staged.all()) cache.learn(run);
    heard(present);
    return decision;
  }
}

/** Raises the revs of runs that get records over what is not firm; true where there are none. */
function raiseUnsure({ staged }: Stage): boolean {
  let isSure = true;
  for (const { known, head, records } of staged.all()) {
    if (known === null || known.firm || records.length === 0) continue;
    staged.save(head);
    isSure = false;
  }
  return isSure;
}

/** Nothing is to be written or compared: an answer was all. */
function isEmpty({ staged, stagedTopics, letters, documents }: Stage): boolean {
  for (const { touched, compared } of staged.all()) if (touched || compared) return false;
  return stagedTopics.changes.size + letters.changes.size + documents.changes.size + documents.closed.size === 0;
}
