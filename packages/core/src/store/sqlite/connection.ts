import { PawlError } from "../../model/errors.ts";
import { StoreError } from "../store-error.ts";
import { pathOf } from "./caller-transaction.ts";
import { prepareAll, type SqliteDatabase, type SqliteStatement, type Statements } from "./driver.ts";
import { BatchRolledBack, isConstraint, storeErrorOf } from "./errors.ts";
import { migrate } from "./migrations.ts";
import { SqliteTables } from "./sqlite-tables.ts";

export type Synchronous = "FULL" | "NORMAL";

const SYNCHRONOUS: Readonly<Record<Synchronous, string>> = {
  FULL: "PRAGMA synchronous = FULL",
  NORMAL: "PRAGMA synchronous = NORMAL",
};

const SQL = {
  begin: "BEGIN IMMEDIATE",
  beginRead: "BEGIN",
  commit: "COMMIT",
  rollback: "ROLLBACK",
  dataVersion: "PRAGMA data_version",
  truncateWal: "PRAGMA wal_checkpoint(TRUNCATE)",
} as const;

/**
 * One open database: its statements, and transactions over them.
 *
 * 1. The connection references the database as long as its statements: a driver may collect a database that only statements reference.
 * 2. After an error no transaction is open, so the connection stays usable.
 * 3. A transaction that was started elsewhere is not touched: by the caller on its own database, or by an outer commit of this
 *    connection whose user code calls the engine.
 */
export class Connection {
  readonly database: SqliteDatabase;
  readonly tables: SqliteTables;
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase, synchronous: Synchronous, walBytesMax: number) {
    this.database = database;
    // Another process may be opening or migrating the file, which takes longer than a commit.
    database.exec("PRAGMA busy_timeout = 10000");
    useWal(database);
    database.exec(SYNCHRONOUS[synchronous]);
    database.exec(`PRAGMA journal_size_limit = ${Math.trunc(walBytesMax)}`);
    database.exec("PRAGMA cache_size = -16384");
    migrate(database);
    // Waiting inside the driver blocks the event loop, so a commit waits at most 50 ms here and is retried outside.
    database.exec("PRAGMA busy_timeout = 50");
    this.#sql = prepareAll(database, SQL);
    this.tables = new SqliteTables(database);
  }

  /** Runs `work` in a write transaction. When it returns, everything is durable. */
  write<Result>(work: () => Result): Result {
    this.#begin(this.#sql.begin);
    let phase: "work" | "commit" = "work";
    try {
      this.tables.begun(this.dataVersion());
      const result = work();
      this.tables.flush();
      phase = "commit";
      this.#sql.commit.run();
      this.tables.ended("committed");
      return result;
    } catch (error) {
      this.tables.ended("rolledBack");
      this.#rollback();
      if (phase === "commit" && isConstraint(error)) {
        throw new BatchRolledBack("what a transaction left behind can't be committed", { cause: error });
      }
      throw storeErrorOf(error, phase);
    }
  }

  /** Runs `work` over one state of the database, even if others commit meanwhile. */
  read<Result>(work: () => Result): Result {
    this.#begin(this.#sql.beginRead);
    try {
      const result = work();
      this.#sql.commit.run();
      return result;
    } catch (error) {
      this.#rollback();
      throw storeErrorOf(error, "work");
    }
  }

  /** Changes when another connection has committed. */
  dataVersion(): number {
    return (this.#sql.dataVersion.get() as { readonly data_version: number }).data_version;
  }

  /** Moves the log into the database and truncates it. False if a reader prevents it. */
  truncateWal(): boolean {
    return (this.#sql.truncateWal.get() as { readonly busy: number }).busy === 0;
  }

  /** The path of the database file. Null for a database in memory. */
  path(): string | null {
    return pathOf(this.database);
  }

  #begin(statement: SqliteStatement): void {
    try {
      statement.run();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (!text.includes("within a transaction")) throw storeErrorOf(error, "work");
      const message = "a transaction is open on the store's own connection; it is tried again";
      throw new StoreError("STORE_BUSY", "notApplied", message, { cause: error });
    }
  }

  /** After some errors SQLite has already rolled back, and the driver reports that no transaction is active. */
  #rollback(): void {
    try {
      this.#sql.rollback.run();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (!text.includes("no transaction is active")) throw storeErrorOf(error, "commit");
    }
  }
}

/** A database in memory has no log and needs none. */
function useWal(database: SqliteDatabase): void {
  const row = database.prepare("PRAGMA journal_mode = WAL").get() as { readonly journal_mode: string };
  if (row.journal_mode === "wal" || row.journal_mode === "memory") return;
  throw new PawlError(
    "STORE_UNSUPPORTED",
    `the database's journal mode is ${row.journal_mode} and can't be WAL: keep it on a local disk, and open it for writing`,
  );
}
