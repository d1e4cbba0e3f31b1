import { kinds, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
import type { SqliteConnection } from "./caller-transaction.ts";
import { findDriver, openWith, type SqliteDatabase, type SqliteStatement, type SqliteValue } from "./driver.ts";
import { SqliteFile } from "./sqlite-file.ts";
import { SqliteStore } from "./sqlite-store.ts";

export type { SqliteConnection, SqliteDatabase, SqliteStatement, SqliteStore, SqliteValue };

export interface SqliteStoreOptions {
  /**
   * `FULL`: commits survive a power failure. `NORMAL`: commits survive a crash of the process, but the last ones may be lost in a power
   * failure. Default `FULL`.
   */
  readonly synchronous?: "FULL" | "NORMAL";
  /** Interval in ms at which commits of other processes are detected. Default 100. */
  readonly pollMs?: number;
  /** Maximum size of the write-ahead log in bytes, after which it is truncated. Default 64 MiB. */
  readonly walBytesMax?: number;
}

const PATH = kinds.storedText(10_000);
/** A path, or an open database. */
const SOURCE = kinds.either(PATH, kinds.withMethods("an open database", "exec", "prepare", "close"));

const OPTIONS = optionTable<SqliteStoreOptions>("sqliteStore", {
  synchronous: kinds.oneOf("FULL", "NORMAL"),
  pollMs: kinds.integer(1),
  walBytesMax: kinds.integer(1),
});

const POLL_MS = 100;
const WAL_BYTES_MAX = 64 * 1024 * 1024;

/**
 * A store in one SQLite file, or in a database that the caller has opened. Several processes may share the file.
 *
 * ```ts
 * const engine = await createEngine({ store: sqliteStore("app.db"), workflows: [order] });
 * ```
 */
export function sqliteStore(source: string | SqliteDatabase, options?: SqliteStoreOptions): SqliteStore {
  readArgument(SOURCE, source, "source");
  const { synchronous = "FULL", pollMs = POLL_MS, walBytesMax = WAL_BYTES_MAX } = readOptions(OPTIONS, options);
  return new SqliteStore(new SqliteFile(source, { synchronous, walBytesMax, driver: findDriver }), pollMs);
}

/**
 * Opens a SQLite file with the library that a store opened by path uses. Use it for every other connection that a process has to the
 * store's file: two different copies of the library in one process do not exclude each other.
 */
export async function openDatabase(path: string): Promise<SqliteDatabase> {
  readArgument(PATH, path, "path");
  return openWith(await findDriver(), path, "FULL");
}
