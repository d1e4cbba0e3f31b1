import { statSync } from "node:fs";
import { PawlError } from "../../model/errors.ts";
import { StoreError } from "../store-error.ts";
import { withinCaller } from "./caller-transaction.ts";
import { Connection, type Synchronous } from "./connection.ts";
import { checkVersion, type SqliteDatabase, type SqliteDriver } from "./driver.ts";
import { needsReopen, storeErrorOf } from "./errors.ts";
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
 */
export class SqliteFile {
  readonly #source: string | SqliteDatabase;
  readonly #options: SqliteFileOptions;
  #driver: SqliteDriver | null = null;
  #connection: Connection | null = null;
  #path: string | null = null;
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
    this.#path = this.#connection.path();
    this.#walPath = this.#path === null ? null : `${this.#path}-wal`;
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
    const { database } = this.#connected();
    return withinCaller(tx, { database, path: this.#path }, work);
  }

  /** Runs one read statement, which needs no transaction to see one state. */
  readOne<Result>(work: (tables: SqliteTables) => Result): Result {
    const connection = this.#connected();
    return this.#guard(() => work(connection.tables));
  }

  dataVersion(): number {
    const connection = this.#connected();
    return this.#guard(() => connection.dataVersion());
  }

  close(): void {
    this.#isClosed = true;
    const connection = this.#connection;
    this.#connection = null;
    if (typeof this.#source !== "string" || connection === null) return;
    mergeLog(connection);
    connection.database.close();
  }

  #connect(): Connection {
    const { synchronous, walBytesMax } = this.#options;
    let database: SqliteDatabase | null = null;
    try {
      database = this.#openDatabase();
      return new Connection(database, synchronous, walBytesMax);
    } catch (error) {
      if (typeof this.#source === "string") database?.close();
      throw storeErrorOf(error, "work");
    }
  }

  #openDatabase(): SqliteDatabase {
    if (typeof this.#source !== "string") return this.#source;
    if (this.#driver === null) throw new PawlError("STORE_UNSUPPORTED", "the store has not been opened");
    return new this.#driver(this.#source);
  }

  #connected(): Connection {
    if (this.#isClosed) throw new StoreError("STORE_UNAVAILABLE", "notApplied", "the store is closed");
    this.#connection ??= this.#connect();
    return this.#connection;
  }

  #guard<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      const cause = error instanceof StoreError ? error.cause : error;
      if (typeof this.#source === "string" && needsReopen(cause)) this.#drop();
      throw storeErrorOf(error, "work");
    }
  }

  /** Drops a connection whose view of the file may be wrong. The next call opens the file again. */
  #drop(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.database.close();
  }

  /** SQLite checkpoints the log itself unless a long reader prevents it. This truncates a log that has grown. */
  #limitWal(connection: Connection): void {
    this.#commitsSinceCheck = 0;
    if (this.#walPath === null) return;
    const stat = statSync(this.#walPath, { throwIfNoEntry: false });
    if (stat !== undefined && stat.size > this.#options.walBytesMax) connection.truncateWal();
  }
}

/** Moves the log into the file. A part that cannot be moved stays in the log; the next process that opens the file reads it. */
function mergeLog(connection: Connection): void {
  try {
    connection.truncateWal();
  } catch {
    // The disk is full, or the file is gone. Close anyway.
  }
}
