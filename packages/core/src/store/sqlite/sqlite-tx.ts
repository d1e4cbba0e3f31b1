import { PawlError } from "../../model/errors.ts";
import type { InTransaction } from "../../model/transition.ts";
import type { SqliteTx, SqliteTxStatement, SqliteTxValue } from "../../model/tx.ts";
import { type TransactionEnd, TxDesk } from "../tx-desk.ts";
import {
  prepareAll,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteValue,
  type Statements,
} from "./database.ts";
import { SpoiledBatch } from "./spoiled-batch.ts";
import { checkStatement } from "./statement-text.ts";

const SQL = {
  savepoint: "SAVEPOINT pawl_transaction",
  release: "RELEASE pawl_transaction",
  undo: "ROLLBACK TO pawl_transaction",
} as const;

/** How many of the user's statements are kept compiled. */
const STATEMENTS_MAX = 256;

/**
 * User code inside the transaction of a commit.
 *
 * X1. A body that throws is undone alone: what the batch wrote before it stays.
 * X2. A transaction that the database itself has rolled back takes no statement more, since each would be committed on its own.
 */
export class SqliteTransactions {
  readonly #database: SqliteDatabase;
  readonly #sql: Statements<typeof SQL>;
  readonly #compiled = new Map<string, SqliteStatement>();

  constructor(database: SqliteDatabase) {
    this.#database = database;
    this.#sql = prepareAll(database, SQL);
  }

  run(code: InTransaction): TransactionEnd {
    this.#sql.savepoint.run();
    const desk = new TxDesk();
    const tx = new SavepointTx(desk, {
      compile: (sql) => this.#compile(sql),
      isOpen: () => this.#isOpen(),
    });
    const end = desk.run(code, tx);
    if (tx.lost !== null) throw new SpoiledBatch("the database rolled the batch back", { cause: tx.lost.error });
    if (end.kind === "threw") this.#sql.undo.run();
    this.#sql.release.run();
    return end;
  }

  #compile(sql: string): SqliteStatement {
    const known = this.#compiled.get(sql);
    if (known !== undefined) return known;
    checkStatement(sql);
    const statement = this.#database.prepare(sql);
    if (this.#compiled.size >= STATEMENTS_MAX) this.#compiled.clear();
    this.#compiled.set(sql, statement);
    return statement;
  }

  /** A transaction can't be begun inside another: every driver says so, and not every one can be asked. */
  #isOpen(): boolean {
    try {
      this.#database.exec("BEGIN");
    } catch {
      return true;
    }
    this.#database.exec("ROLLBACK");
    return false;
  }
}

interface TxSource {
  compile(sql: string): SqliteStatement;
  isOpen(): boolean;
}

class SavepointTx implements SqliteTx {
  readonly #desk: TxDesk;
  readonly #source: TxSource;
  #lost: { readonly error: unknown } | null = null;

  constructor(desk: TxDesk, source: TxSource) {
    this.#desk = desk;
    this.#source = source;
  }

  /** Why the database has rolled everything back; null: it has not. */
  get lost(): { readonly error: unknown } | null {
    return this.#lost;
  }

  prepare(sql: string): SqliteTxStatement {
    const statement = this.#try(() => this.#source.compile(sql));
    return {
      run: (...values) => this.#try(() => statement.run(...plain(values))),
      get: (...values) => this.#try(() => statement.get(...plain(values))),
      all: (...values) => this.#try(() => statement.all(...plain(values))),
    };
  }

  exec(sql: string): void {
    this.prepare(sql).run();
  }

  #try<Result>(work: () => Result): Result {
    this.#desk.check();
    if (this.#lost !== null) {
      throw new PawlError(
        "TX_INVALID",
        "the database has rolled the transaction back; nothing more can be done in it",
        {
          cause: this.#lost.error,
        },
      );
    }
    try {
      return work();
    } catch (error) {
      if (!this.#source.isOpen()) this.#lost = { error };
      throw error;
    }
  }
}

/** Drivers take more kinds of values than the store's own rows hold. */
function plain(values: readonly SqliteTxValue[]): SqliteValue[] {
  return values as SqliteValue[];
}
