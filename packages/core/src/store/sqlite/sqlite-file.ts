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

/** How many commits may pass between two looks at the size of the log. */
const WAL_LOOK_COMMITS = 64;

/**
 * A database file over its life: opened, opened anew after an error that makes a connection unfit, kept from growing a long
 * log, closed. A database that the caller has opened is used as it is and left open.
 */
export class SqliteFile {
  readonly #source: string | SqliteDatabase;
  readonly #options: SqliteFileOptions;
  #driver: SqliteDriver | null = null;
  #connection: Connection | null = null;
  #path: string | null = null;
  #walPath: string | null = null;
  #isClosed = false;
  #commitsUnseen = 0;

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

  /** Runs `work` in a transaction that may write: all of it is durable when this returns, or none of it has happened. */
  write<Result>(work: (tables: SqliteTables) => Result): Result {
    const connection = this.#connected();
    const result = this.#guard(() => connection.write(() => work(connection.tables)));
    this.#commitsUnseen += 1;
    if (this.#commitsUnseen >= WAL_LOOK_COMMITS) this.#limitWal(connection);
    return result;
  }

  /** Runs `work` over one state of the database, whatever others commit meanwhile. */
  read<Result>(work: (tables: SqliteTables) => Result): Result {
    const connection = this.#connected();
    return this.#guard(() => connection.read(() => work(connection.tables)));
  }

  /** Runs `work` in a transaction that the caller has open on this file. */
  within<Result>(tx: unknown, work: (tables: SqliteTables) => Result): Result {
    const { database } = this.#connected();
    return withinCaller(tx, { database, path: this.#path }, work);
  }

  /** For one statement, which sees one state without a transaction around it. */
  glance<Result>(work: (tables: SqliteTables) => Result): Result {
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

  /** What this connection believes of the file may be wrong: the next call opens it anew. */
  #drop(): void {
    const connection = this.#connection;
    this.#connection = null;
    connection?.database.close();
  }

  /** The log is emptied by itself where nobody reads it; a reader that stays makes it grow, and this catches up. */
  #limitWal(connection: Connection): void {
    this.#commitsUnseen = 0;
    if (this.#walPath === null) return;
    const stat = statSync(this.#walPath, { throwIfNoEntry: false });
    if (stat !== undefined && stat.size > this.#options.walBytesMax) connection.truncateWal();
  }
}

/** So that the file alone holds everything. What can't be moved stays in the log, where the next to open the file finds it. */
function mergeLog(connection: Connection): void {
  try {
    connection.truncateWal();
  } catch {
    // The disk is full, or the file is gone: closing goes on.
  }
}
