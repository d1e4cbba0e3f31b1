import { PawlError } from "../../model/errors.ts";
import { prepareAll, type SqliteDatabase, type SqliteStatement } from "./driver.ts";
import { storeErrorOf } from "./errors.ts";
import { cacheOf } from "./head-cache.ts";
import { checkSchemaVersion, SCHEMA_VERSION_SQL } from "./migrations.ts";
import { isSameLibrary } from "./same-library.ts";
import { SqliteTables } from "./sqlite-tables.ts";

/** The part of a connection that the store needs to write inside the caller's transaction. */
export interface SqliteConnection {
  prepare(sql: string): Pick<SqliteStatement, "run" | "get" | "all">;
}

const SQL = {
  savepoint: "SAVEPOINT pawl_within",
  release: "RELEASE pawl_within",
  undo: "ROLLBACK TO pawl_within",
} as const;

/** Connections whose library was found to be the store's. */
const TABLES_BY_CONNECTION = new WeakMap<object, SqliteTables>();

/**
 * Runs `work` inside the caller's open transaction; the result is durable when the caller commits. After an error nothing of it remains,
 * so the caller may still commit.
 */
export function withinCaller<Result>(
  tx: unknown,
  store: { readonly database: SqliteDatabase; readonly path: string | null },
  work: (tables: SqliteTables) => Result,
): Result {
  const database = checkConnection(tx, store) as SqliteDatabase;
  const sql = prepareAll(database, SQL);
  const tables = TABLES_BY_CONNECTION.get(database) ?? new SqliteTables(database);
  TABLES_BY_CONNECTION.set(database, tables);
  sql.savepoint.run();
  try {
    checkSchemaVersion(database.prepare(SCHEMA_VERSION_SQL).get());
    const result = work(tables);
    tables.flush();
    sql.release.run();
    return result;
  } catch (error) {
    tables.drop();
    sql.undo.run();
    sql.release.run();
    throw storeErrorOf(error, "work");
  } finally {
    // `data_version` does not change if the caller used the store's own connection.
    cacheOf(database).forget();
  }
}

/** Rejects a connection without an open transaction, to another file, or of another SQLite library. Changes nothing. */
function checkConnection(
  tx: unknown,
  { database, path }: { readonly database: SqliteDatabase; readonly path: string | null },
): SqliteConnection {
  if (!isConnection(tx)) throw invalid("tx has no method `prepare`; pass the connection, or the tx of ctx.transaction");
  const row = tx.prepare("SELECT 1 AS one").get() as { readonly one?: unknown } | undefined;
  if (row?.one !== 1)
    throw invalid(
      "tx returns rows in another form; open the connection without options that change how values are read",
    );
  if (tx !== database && (path === null || pathOf(tx) !== path)) {
    const [used, own] = [pathOf(tx), path].map((each) => each ?? "a database in memory");
    throw invalid(`tx is a connection to ${used}; use one to the store's database, ${own}`);
  }
  if (!TABLES_BY_CONNECTION.has(tx) && !isSameLibrary(database, tx)) throw foreignLibrary();
  if (!isInTransaction(tx)) throw invalid("tx has no open transaction; run BEGIN IMMEDIATE first");
  return tx;
}

function isConnection(tx: unknown): tx is SqliteConnection {
  return typeof tx === "object" && tx !== null && typeof (tx as { prepare?: unknown }).prepare === "function";
}

/** The path of the connection's file. Null for a database in memory. */
export function pathOf(connection: SqliteConnection): string | null {
  const rows = connection.prepare("PRAGMA database_list").all() as { readonly name: string; readonly file: string }[];
  return rows.find(({ name }) => name === "main")?.file || null;
}

/** BEGIN fails inside a transaction with every driver. Not every driver has a property for it. */
function isInTransaction(connection: SqliteConnection): boolean {
  try {
    connection.prepare("BEGIN").run();
  } catch {
    return true;
  }
  connection.prepare("ROLLBACK").run();
  return false;
}

function foreignLibrary(): PawlError {
  return new PawlError(
    "TX_FOREIGN_DRIVER",
    "the connection passed as tx uses another copy of the SQLite library than the store, and the two do not exclude each other; " +
      "nothing was done; roll back, and use a connection of store.database() or of openDatabase of pawl/sqlite",
  );
}

function invalid(message: string): PawlError {
  return new PawlError("TX_INVALID", message);
}
