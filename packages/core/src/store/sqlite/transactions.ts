import { PawlError } from "../../model/errors.ts";
import type { InTransaction } from "../../model/transition.ts";
import type { SqliteTx, SqliteTxStatement, SqliteTxValue } from "../../model/tx.ts";
import { type TransactionEnd, TransactionScope } from "../../rules/transaction-scope.ts";
import { prepareAll, type SqliteDatabase, type SqliteStatement, type SqliteValue, type Statements } from "./driver.ts";
import { BatchRolledBack } from "./errors.ts";

const SQL = {
  savepoint: "SAVEPOINT pawl_transaction",
  release: "RELEASE pawl_transaction",
  undo: "ROLLBACK TO pawl_transaction",
} as const;

/** How many compiled statements of user code are cached. */
const STATEMENTS_MAX = 256;

/**
 * User code inside the transaction of a commit.
 *
 * 1. If the code throws, only its own changes are rolled back.
 * 2. After SQLite itself has rolled back, no further statement is accepted: each would be committed on its own.
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
    const scope = new TransactionScope();
    const tx = new SavepointTx(scope, {
      compile: (sql) => this.#compile(sql),
      isOpen: () => this.#isOpen(),
    });
    const end = scope.run(code, tx);
    if (tx.lost !== null) throw new BatchRolledBack("the database rolled the batch back", { cause: tx.lost.error });
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

  /** BEGIN fails inside a transaction with every driver. Not every driver has a property for it. */
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
  readonly #scope: TransactionScope;
  readonly #source: TxSource;
  #lost: { readonly error: unknown } | null = null;

  constructor(scope: TransactionScope, source: TxSource) {
    this.#scope = scope;
    this.#source = source;
  }

  /** Why SQLite rolled back the batch. Null if it did not. */
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
    this.#scope.check();
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

/** Drivers accept more types of values than the store uses itself. */
function plain(values: readonly SqliteTxValue[]): SqliteValue[] {
  return values as SqliteValue[];
}

/** First words of allowed statements. None of them ends the transaction or acts outside it. */
const ALLOWED = /^\s*(?:select|values|with|insert|replace|update|delete|create|alter|drop|explain)\b/i;
/** Strings, quoted names and comments. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/**
 * Rejects statements that a transaction cannot contain. A driver compiles only the first statement of a text, so a second one would be
 * skipped silently. A conflict clause that rolls back would roll back the whole batch.
 */
export function checkStatement(sql: string): void {
  const bare = sql.replace(QUOTED, (text) => (text.startsWith("--") || text.startsWith("/*") ? " " : " q "));
  const problem = problemOf(bare);
  if (problem === null) return;
  throw new PawlError("TX_STATEMENT", `a transaction cannot execute this statement, ${problem}: ${excerpt(sql)}`);
}

function problemOf(bare: string): string | null {
  if (!ALLOWED.test(bare)) return "which neither reads nor writes rows or tables";
  if (/;[\s;]*\S/.test(bare.replace(/[\s;]+$/, ""))) return "which is more than one";
  if (/\brollback\b/i.test(bare)) return "which may roll everything back";
  return null;
}

function excerpt(sql: string): string {
  const line = sql.trim().replace(/\s+/g, " ");
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`;
}
