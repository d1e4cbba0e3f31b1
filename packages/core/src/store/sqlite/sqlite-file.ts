import { statSync } from "node:fs";
import { PawlError } from "../../model/errors.ts";
import { StoreError, stopsEngine } from "../store-error.ts";
import { withinCaller } from "./caller-transaction.ts";
import { abandon, Connection, type Synchronous } from "./connection.ts";
import { checkVersion, openWith, type SqliteDatabase, type SqliteDriver } from "./driver.ts";
import { needsReopen, openErrorOf, storeErrorOf } from "./errors.ts";
import type { FileIdentity } from "./file-identity.ts";
import type { SqliteTables } from "./sqlite-tables.ts";

export interface SqliteFileOptions {
  readonly synchronous: Synchronous;
  readonly walBytesMax: number;
  readonly driver: () => Promise<SqliteDriver>;
}

/** How many commits pass between two checks of the log's size. */
const WAL_CHECK_COMMITS = 64;

/**
 * A database file: opened, reopened after an error that makes the connection unusable, and closed. Its write-ahead log is kept small. A
 * database that the caller opened is used unchanged and stays open.
 *
 * 1. After an error that stops the engine, every call fails with this error. The file is not closed then, and not opened again.
 */
export class SqliteFile {
  readonly #source: string | SqliteDatabase;
  readonly #options: SqliteFileOptions;
  #driver: SqliteDriver | null = null;
  #connection: Connection | null = null;
  #path: string | null = null;
  #identity: FileIdentity | null = null;
  #stopped: PawlError | null = null;
  #walPath: string | null = null;
  #isClosed = false;
  #commitsSinceCheck = 0;

  constructor(source: string | SqliteDatabase, options: SqliteFileOptions) {
    this.#source = source;
    this.#options = options;
  }

  async open(): Promise<void> {
    if (typeof this.#source === "string") this.#driver = await this.#options.driver();
    else checkVersion(this.#source);
    this.#connection = this.#connect();
    this.#path = this.#connection.path;
    this.#walPath = this.#path === null ? null : `${this.#path}-wal`;
  }

  /** A connection of the caller's own, with the library that the store uses. */
  async connect(): Promise<SqliteDatabase> {
    if (this.#stopped !== null) throw this.#stopped;
    const { driver, synchronous } = this.#options;
    if (typeof this.#source === "string") return openWith(await driver(), this.#source, synchronous);
    throw new PawlError(
      "OPTION_INVALID",
      "sqliteStore got an open database, so database() does not know how to open another; open it as you opened the first, or pass a path",
    );
  }

  /** Runs `work` in a write transaction. When it returns, everything is durable; if it throws, nothing was written. */
  write<Result>(work: (tables: SqliteTables) => Result): Result {
    const connection = this.#connected();
    const result = this.#guard(() => connection.write(() => work(connection.tables)));
    this.#commitsSinceCheck += 1;
    if (this.#commitsSinceCheck >= WAL_CHECK_COMMITS) this.#limitWal(connection);
    return result;
  }

  /** Runs `work` over one state of the database, even if others commit meanwhile. */
  read<Result>(work: (tables: SqliteTables) => Result): Result {
    const connection = this.#connected();
    return this.#guard(() => connection.read(() => work(connection.tables)));
  }

  /** Runs `work` in the caller's open transaction on this file. */
  within<Result>(tx: unknown, work: (tables: SqliteTables) => Result): Result {
    const connection = this.#connected();
    const checked = (tables: SqliteTables): Result => {
      connection.checkFile();
      return work(tables);
    };
    return this.#guard(() => withinCaller(tx, connection, checked));
  }

  /** Runs one read statement, which needs no transaction to see one state. */
  readOne<Result>(work: (tables: SqliteTables) => Result): Result {
    const connection = this.#connected();
    return this.#guard(() => {
      connection.checkFile();
      return work(connection.tables);
    });
  }

  dataVersion(): number {
    const connection = this.#connected();
    return this.#guard(() => {
      connection.checkFile();
      return connection.dataVersion();
    });
  }

  close(): void {
    this.#isClosed = true;
    const connection = this.#connection;
    this.#connection = null;
    if (connection === null) return;
    if (typeof this.#source === "string" && mayClose(this.#stopped)) {
      mergeLog(connection);
      connection.close();
      return;
    }
    connection.release();
    if (typeof this.#source === "string") abandon(connection.database);
  }

  #connect(): Connection {
    const { synchronous, walBytesMax } = this.#options;
    let database: SqliteDatabase | null = null;
    try {
      // A file that is opened again must be the same one. SQLite would create a missing file.
      this.#identity?.checkDatabase();
      database = this.#openDatabase();
      const connection = new Connection(database, synchronous, walBytesMax);
      this.#identity = connection.identity;
      return connection;
    } catch (error) {
      if (typeof this.#source === "string" && database !== null) {
        if (mayClose(error)) database.close();
        else abandon(database);
      }
      throw typeof this.#source === "string" ? openErrorOf(error, this.#source) : storeErrorOf(error, "work");
    }
  }

  #openDatabase(): SqliteDatabase {
    if (typeof this.#source !== "string") return this.#source;
    if (this.#driver === null) throw new PawlError("STORE_UNSUPPORTED", "the store has not been opened");
    return new this.#driver(this.#source);
  }

  #connected(): Connection {
    if (this.#stopped !== null) throw this.#stopped;
    if (this.#isClosed) throw new StoreError("STORE_UNAVAILABLE", "notApplied", "the store is closed");
    this.#connection ??= this.#guard(() => this.#connect());
    return this.#connection;
  }

  #guard<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (stopsEngine(error)) this.#stopped = error;
      const cause = error instanceof StoreError ? error.cause : error;
      if (typeof this.#source === "string" && needsReopen(cause)) this.#drop();
      throw storeErrorOf(error, "work");
    }
  }

  /** Drops a connection whose view of the file may be wrong. The next call opens the file again. */
  #drop(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.close();
  }

  /** SQLite checkpoints the log itself unless a long reader prevents it. This truncates a log that has grown. */
  #limitWal(connection: Connection): void {
    this.#commitsSinceCheck = 0;
    if (this.#walPath === null) return;
    const stat = statSync(this.#walPath, { throwIfNoEntry: false });
    if (stat !== undefined && stat.size > this.#options.walBytesMax) connection.truncateWal();
  }
}

/** Whether the file at the path is the open one, and no other library relies on its log. */
function mayClose(error: unknown): boolean {
  return !stopsEngine(error) || error.code === "STORE_UNSUPPORTED";
}

/** Moves the log into the file. A part that cannot be moved stays in the log; the next process that opens the file reads it. */
function mergeLog(connection: Connection): void {
  try {
    connection.truncateWal();
  } catch {
    // The disk is full, or the file is gone. Close anyway.
  }
}
