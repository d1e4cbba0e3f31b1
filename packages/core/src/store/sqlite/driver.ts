import { PawlError } from "../../model/errors.ts";
import { StoreError } from "../store-error.ts";
import { openErrorOf } from "./errors.ts";

/** The class that a driver module exports as `DatabaseSync`. */
export type SqliteDriver = new (path: string) => SqliteDatabase;

/** Older versions can lose a commit when several connections write and checkpoint. */
const VERSION_MIN = [3, 51, 3] as const;

const DRIVERS = ["node:sqlite", "@photostructure/sqlite"] as const;

/** Returns the first installed driver whose SQLite is new enough. */
export async function findDriver(names: readonly string[] = DRIVERS): Promise<SqliteDriver> {
  const tried: string[] = [];
  for (const name of names) {
    const Driver = await loadDriver(name);
    if (Driver === null) {
      tried.push(`${name} is not there`);
      continue;
    }
    const version = versionOf(Driver);
    if (isSupported(version)) return Driver;
    tried.push(`${name} has SQLite ${version}`);
  }
  const least = VERSION_MIN.join(".");
  throw new PawlError(
    "STORE_UNSUPPORTED",
    `no driver has SQLite ${least} or newer: ${tried.join(", ")}; install the package @photostructure/sqlite`,
  );
}

/** How long the caller's own connection waits for a writer in another process. */
const BUSY_MS = 5_000;

/** Opens a file for the caller. The drivers differ in their defaults, so what matters is set. */
export function openWith(Driver: SqliteDriver, path: string, synchronous: "FULL" | "NORMAL"): SqliteDatabase {
  try {
    const database = new Driver(path);
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA synchronous = ${synchronous}`);
    return database;
  } catch (cause) {
    const error = openErrorOf(cause, path);
    if (!(error instanceof StoreError)) throw error;
    throw new PawlError("STORE_UNAVAILABLE", `${error.message}; check the path, and that this process may use it`, {
      cause,
    });
  }
}

/** Rejects a database whose SQLite is too old. */
export function checkVersion(database: SqliteDatabase): void {
  const version = libraryVersion(database);
  if (isSupported(version)) return;
  throw new PawlError(
    "STORE_UNSUPPORTED",
    `the driver has SQLite ${version}, which can lose commits; ${VERSION_MIN.join(".")} or newer is needed`,
  );
}

export function isSupported(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, least] of VERSION_MIN.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}

function versionOf(Driver: SqliteDriver): string {
  const database = new Driver(":memory:");
  const version = libraryVersion(database);
  database.close();
  return version;
}

function libraryVersion(database: SqliteDatabase): string {
  const row = database.prepare("SELECT sqlite_version() AS version").get() as { readonly version: string };
  return row.version;
}

/** Null if the driver is not installed or not built into this Node. */
async function loadDriver(name: string): Promise<SqliteDriver | null> {
  try {
    const module = (await import(name)) as { readonly DatabaseSync: SqliteDriver };
    return module.DatabaseSync;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === "ERR_UNKNOWN_BUILTIN_MODULE" || code === "ERR_MODULE_NOT_FOUND") return null;
    throw new PawlError("STORE_UNSUPPORTED", `the driver ${name} is installed but could not be loaded`, {
      cause: error,
    });
  }
}

/** The part of `node:sqlite` that the store uses; `@photostructure/sqlite` and better-sqlite3 have it too. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): unknown;
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

export type SqliteValue = string | number | bigint | Uint8Array | null;

/** Statements by name, from constant texts. */
export type Statements<Texts> = { readonly [Name in keyof Texts]: SqliteStatement };

export function prepareAll<Texts extends Readonly<Record<string, string>>>(
  database: SqliteDatabase,
  texts: Texts,
): Statements<Texts> {
  const prepared = Object.entries(texts).map(([name, text]) => [name, database.prepare(text)] as const);
  return Object.fromEntries(prepared) as Statements<Texts>;
}
