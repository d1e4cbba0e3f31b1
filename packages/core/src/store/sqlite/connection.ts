import { PawlError } from "../../model/errors.ts";
import { StoreError } from "../store-error.ts";
import { pathOf } from "./caller-transaction.ts";
import { prepareAll, type SqliteDatabase, type SqliteStatement, type Statements } from "./driver.ts";
import { BatchRolledBack, isConstraint, storeErrorOf } from "./errors.ts";
import { FileIdentity } from "./file-identity.ts";
import { checkSchemaVersion, migrate, SCHEMA_VERSION_SQL } from "./migrations.ts";
import { ShmLock } from "./shm-lock.ts";
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
  schemaVersion: SCHEMA_VERSION_SQL,
  truncateWal: "PRAGMA wal_checkpoint(TRUNCATE)",
} as const;

/**
 * Databases that must not be closed, nor collected, which closes them too: SQLite would delete the log at the file's path, and another
 * connection may be using it.
 */
const ABANDONED: SqliteDatabase[] = [];

export function abandon(database: SqliteDatabase): void {
  ABANDONED.push(database);
}

/**
 * One open database: its statements, and transactions over them.
 *
 * 1. The connection references the database as long as its statements: a driver may collect a database that only statements reference.
 * 2. After an error no transaction is open, so the connection stays usable.
 * 3. A transaction that was started elsewhere is not touched: by the caller on its own database, or by an outer commit of this
 *    connection whose user code calls the engine.
 * 4. After a newer release has raised the schema version, no transaction writes: it fails with STORE_UNSUPPORTED.
 * 5. A write succeeds only if the file's path still names the open file after the commit. Otherwise it fails with STORE_LOST.
 * 6. Nothing is written after another SQLite library in this process has opened the file, where the platform reveals that (`ShmLock`). A
 *    write fails with STORE_FOREIGN_DRIVER.
 */
export class Connection {
  readonly database: SqliteDatabase;
  readonly tables: SqliteTables;
  /** The path of the database file. Null for a database in memory. */
  readonly path: string | null;
  /** Null for a database in memory. */
  readonly identity: FileIdentity | null;
  readonly #shmLock: ShmLock | null;
  readonly #sql: Statements<typeof SQL>;
  /** The `data_version` at which the schema version was read last. */
  #checkedAt: number | null = null;

  constructor(database: SqliteDatabase, synchronous: Synchronous, walBytesMax: number) {
    this.database = database;
    // Another process may be opening or migrating the file, which takes longer than a commit.
    database.exec("PRAGMA busy_timeout = 10000");
    useWal(database);
    database.exec(SYNCHRONOUS[synchronous]);
    database.exec(`PRAGMA journal_size_limit = ${Math.trunc(walBytesMax)}`);
    database.exec("PRAGMA cache_size = -16384");
    this.path = pathOf(database);
    this.#shmLock = this.path === null ? null : findShmLock(database, this.path);
    try {
      migrate(database);
    } catch (error) {
      this.release();
      throw error;
    }
    this.identity = this.path === null ? null : new FileIdentity(this.path);
    // Waiting inside the driver blocks the event loop, so a commit waits at most 50 ms here and is retried outside.
    database.exec("PRAGMA busy_timeout = 50");
    this.#sql = prepareAll(database, SQL);
    this.tables = new SqliteTables(database);
  }

  /** Runs `work` in a write transaction. When it returns, everything is durable. */
  write<Result>(work: () => Result): Result {
    this.#shmLock?.check();
    const result = this.#transact(work);
    this.identity?.checkAfterWrite();
    return result;
  }

  #transact<Result>(work: () => Result): Result {
    this.#begin(this.#sql.begin);
    let phase: "work" | "commit" = "work";
    try {
      const version = this.dataVersion();
      if (version !== this.#checkedAt) checkSchemaVersion(this.#sql.schemaVersion.get());
      this.#checkedAt = version;
      this.tables.begun(version);
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
        throw new BatchRolledBack("the changes of a transaction cannot be committed", { cause: error });
      }
      throw storeErrorOf(error, phase);
    }
  }

  /** Runs `work` over one state of the database, even if others commit meanwhile. */
  read<Result>(work: () => Result): Result {
    this.checkFile();
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

  /** Throws an error that stops the engine if a write would be lost (Connection.5, Connection.6). */
  checkFile(): void {
    this.#shmLock?.check();
    this.identity?.check();
  }

  close(): void {
    this.release();
    this.database.close();
  }

  /** Leaves the database open. */
  release(): void {
    this.#shmLock?.close();
  }

  #begin(statement: SqliteStatement): void {
    try {
      statement.run();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (!text.includes("within a transaction")) throw storeErrorOf(error, "work");
      const message = "another transaction is open on the store's connection; will retry";
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

function findShmLock(database: SqliteDatabase, path: string): ShmLock | null {
  database.exec("BEGIN");
  try {
    // SQLite takes its locks at the first statement that reads.
    database.prepare("SELECT count(*) FROM sqlite_master").get();
    return ShmLock.find(path);
  } finally {
    database.exec("ROLLBACK");
  }
}

/** A database in memory has no log and needs none. */
function useWal(database: SqliteDatabase): void {
  const row = database.prepare("PRAGMA journal_mode = WAL").get() as { readonly journal_mode: string };
  if (row.journal_mode === "wal" || row.journal_mode === "memory") return;
  throw new PawlError(
    "STORE_UNSUPPORTED",
    `the database's journal mode is ${row.journal_mode} and cannot be changed to WAL; keep it on a local disk, and open it for writing`,
  );
}
