import { Batch } from "../batch.ts";
import { StoreError } from "../store-error.ts";
import type { Tables } from "../tables.ts";
import { toColumn } from "../text-column.ts";
import { COMMIT_CALL, commitValues } from "./commit-call.ts";
import { type Database, jsonOf } from "./database.ts";
import type { PostgresClient } from "./driver.ts";
import type { HeadCache } from "./head-cache.ts";
import { KnownRows, Wanted } from "./known-rows.ts";
import { LOCK_CALL, learnRows, ROWS_CALL, type RowsAnswer, rowsValues } from "./rows-call.ts";
import { Stage } from "./stage.ts";
import type { Trust } from "./staged-run.ts";
import { isConflict } from "./store-error-of.ts";

/** What is decided over the rows as they are known. It may be called again and again: it has no effect of its own. */
export type Decide<Result> = (batch: Batch, stage: Stage) => Decision<Result>;

export interface Decision<Result> {
  readonly result: Result;
  /** The latest deadline that it rests on. */
  readonly notBefore: number | null;
  /** What to tell other processes. */
  readonly hints: readonly string[];
}

export interface WritingParts {
  readonly database: Database;
  readonly cache: HeadCache;
  readonly channel: string;
  /** The present, as far as it is known here. */
  readonly now: () => number;
  /** The present to compare with, where it is not the database's clock that counts. */
  readonly fixedNow: () => number | null;
  readonly heard: (present: number) => void;
}

interface Decided<Result> {
  readonly stage: Stage;
  /** Null: something has to be read first. */
  readonly decision: Decision<Result> | null;
  /** What can't be, unless what is remembered is wrong. */
  readonly doubt: { readonly error: unknown } | null;
}

/** How often a commit may find that others were faster, and how often it may find that it needs to know more. */
const CONFLICTS_MAX = 100;
const ROUNDS_MAX = 100;

const BEGIN = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 15000; SET LOCAL lock_timeout = 15000";

/**
 * Decides and writes, until what was decided is what was true.
 *
 * X1. First over what is remembered, and what has to be read: one call writes it, if every row is as it was seen. Else
 *     everything is locked, in one order, read and decided again, and written in the same transaction: the one that holds the
 *     locks comes to its end.
 * X2. What is decided without knowing enough is thrown away.
 */
export class Writing {
  readonly #parts: WritingParts;

  constructor(parts: WritingParts) {
    this.#parts = parts;
  }

  async write<Result>(decide: Decide<Result>): Promise<Result> {
    const { cache } = this.#parts;
    try {
      const asked = new Wanted();
      const first = await this.#trusting(decide, asked);
      return first === null ? await this.#locking(decide, asked) : first.result;
    } catch (error) {
      // Whatever has become of the commit, what is remembered may be wrong.
      cache.clear();
      throw error;
    }
  }

  /** Null: others were faster. `asked` has all that was looked for. */
  async #trusting<Result>(decide: Decide<Result>, asked: Wanted): Promise<{ readonly result: Result } | null> {
    const { database, cache } = this.#parts;
    const rows = new KnownRows(cache);
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const { stage, decision, doubt } = this.#decide(rows, "trusting", decide);
      if (doubt !== null) return null;
      for (const { head, touched } of stage.staged.all()) if (touched) asked.runs.add(head.id);
      if (decision === null) {
        asked.add(stage.wanted);
        const answer = await database.call(ROWS_CALL, rowsValues(stage.wanted, this.#parts.fixedNow()));
        this.#learn(rows, stage.wanted, answer as RowsAnswer);
        continue;
      }
      if (isEmpty(stage)) return decision;
      try {
        const present = await database.call(COMMIT_CALL, this.#values(stage, decision));
        if (present !== null) return this.#written(stage, decision, present as number);
      } catch (error) {
        if (!isConflict(error instanceof StoreError ? error.cause : error)) throw error;
      }
      for (const { head } of stage.staged.all()) cache.delete(head.id);
      return null;
    }
    throw new Error(`a commit wants to know more and more after ${ROUNDS_MAX} rounds`);
  }

  async #locking<Result>(decide: Decide<Result>, asked: Wanted): Promise<Result> {
    for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts += 1) {
      const done = await this.#parts.database.use((client) => this.#locked(client, decide, asked));
      if (done !== null) return done.result;
    }
    throw new StoreError("STORE_BUSY", "notApplied", `others were faster ${CONFLICTS_MAX} times`);
  }

  /** Null: it has to be tried again, with more locks or because of an id that came meanwhile. */
  async #locked<Result>(
    client: PostgresClient,
    decide: Decide<Result>,
    asked: Wanted,
  ): Promise<{ readonly result: Result } | null> {
    const { database, fixedNow } = this.#parts;
    const rows = new KnownRows(null);
    await client.query(BEGIN);
    try {
      const locks = [[...asked.topics.keys()].map(toColumn), [...asked.runs].map(toColumn)];
      await client.query(database.sql(LOCK_CALL), locks);
      const answer = jsonOf(await client.query(database.sql(ROWS_CALL), [...rowsValues(asked, fixedNow())]));
      this.#learn(rows, asked, answer as RowsAnswer);
      const { stage, decision, doubt } = this.#decide(rows, "careful", decide);
      if (doubt !== null) throw doubt.error;
      for (const runId of rows.runs.keys()) asked.runs.add(runId);
      asked.add(stage.wanted);
      if (decision === null) return await rolledBack(client);
      if (isEmpty(stage)) {
        await client.query("COMMIT");
        return decision;
      }
      const present = jsonOf(await client.query(database.sql(COMMIT_CALL), [...this.#values(stage, decision)]));
      if (present === null) return await rolledBack(client);
      const { command } = await client.query("COMMIT");
      return command === "COMMIT" ? this.#written(stage, decision, present as number) : null;
    } catch (error) {
      if (!isConflict(error)) {
        await client.query("ROLLBACK");
        throw error;
      }
      return await rolledBack(client);
    }
  }

  #decide<Result>(
    rows: KnownRows,
    trust: Trust,
    decide: Decide<Result>,
  ): Decided<Result> {
    const { now, fixedNow } = this.#parts;
    const stage = new Stage(rows, trust);
    const batch = new Batch(stage as Tables, fixedNow() ?? rows.now ?? now());
    try {
      const decision = decide(batch, stage);
      return { stage, decision: stage.wanted.size > 0 ? null : decision, doubt: null };
    } catch (error) {
      return { stage, decision: null, doubt: { error } };
    }
  }

  #values(stage: Stage, { notBefore, hints }: Decision<unknown>): readonly unknown[] {
    const { channel, fixedNow } = this.#parts;
    return commitValues(stage, { now: fixedNow(), notBefore, channel, hints });
  }

  #learn(rows: KnownRows, wanted: Wanted, answer: RowsAnswer): void {
    learnRows(rows, wanted, answer);
    this.#parts.heard(answer.now);
  }

  #written<Result>(stage: Stage, decision: Decision<Result>, present: number): Decision<Result> {
    const { cache, heard } = this.#parts;
    for (const run of stage.staged.all()) cache.learn(run);
    heard(present);
    return decision;
  }
}

/** Nothing is to be written or compared: an answer was all. */
function isEmpty({ staged, stagedTopics, letters, documents }: Stage): boolean {
  for (const { touched, compared } of staged.all()) if (touched || compared) return false;
  return stagedTopics.changes.size + letters.changes.size + documents.changes.size === 0;
}

async function rolledBack(client: PostgresClient): Promise<null> {
  await client.query("ROLLBACK");
  return null;
}
