import { kinds, readArgument } from "../../model/option-check.ts";
import type { KvDriver, KvEntry, KvWrite } from "./kv-driver.ts";
import { type AlarmRow, afterPrefix, DriversByRun, type Namespaces } from "./namespaces.ts";

/** The part of `node:sqlite`, better-sqlite3 and @photostructure/sqlite that Pawl uses. The caller opens and closes the connection. */
export interface SqliteConnection {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteQuery;
}

export interface SqliteQuery {
  run(...values: readonly (string | number | Uint8Array | null)[]): unknown;
  get(...values: readonly (string | number | Uint8Array | null)[]): unknown;
  all(...values: readonly (string | number | Uint8Array | null)[]): unknown[];
}

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS pawl_kv (
    run TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY (run, key)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS pawl_alarm (run TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
`;

const CONNECTION = kinds.withMethods("an open SQLite connection", "exec", "prepare");

/** Stores namespaces in one SQLite file. The caller must not open a transaction on the connection while a run is executed. */
export function sqliteNamespaces(connection: SqliteConnection): Namespaces {
  readArgument(CONNECTION, connection, "connection");
  connection.exec(SCHEMA);
  const drivers = new DriversByRun((runId) => new SqliteDriver(connection, runId));
  const alarms = connection.prepare("SELECT run AS runId, at FROM pawl_alarm ORDER BY at, run");
  return {
    driver: (runId) => drivers.get(runId),
    alarms: async () => alarms.all().map((row) => ({ ...(row as AlarmRow) })),
  };
}

/** Every call completes synchronously, so batches never overlap. */
class SqliteDriver implements KvDriver {
  readonly #connection: SqliteConnection;
  readonly #run: string;
  readonly #get: SqliteQuery;
  readonly #put: SqliteQuery;
  readonly #remove: SqliteQuery;
  readonly #setAlarm: SqliteQuery;
  readonly #clearAlarm: SqliteQuery;

  constructor(connection: SqliteConnection, run: string) {
    this.#connection = connection;
    this.#run = run;
    this.#get = connection.prepare("SELECT value FROM pawl_kv WHERE run = ? AND key = ?");
    this.#put = connection.prepare("INSERT OR REPLACE INTO pawl_kv (run, key, value) VALUES (?, ?, ?)");
    this.#remove = connection.prepare("DELETE FROM pawl_kv WHERE run = ? AND key = ?");
    this.#setAlarm = connection.prepare("INSERT OR REPLACE INTO pawl_alarm (run, at) VALUES (?, ?)");
    this.#clearAlarm = connection.prepare("DELETE FROM pawl_alarm WHERE run = ?");
  }

  async get(key: Uint8Array): Promise<Uint8Array | null> {
    const row = this.#get.get(this.#run, key) as { readonly value: Uint8Array } | undefined;
    return row === undefined ? null : plainBytes(row.value);
  }

  async set(key: Uint8Array, value: Uint8Array): Promise<void> {
    this.#put.run(this.#run, key, value);
  }

  async delete(key: Uint8Array): Promise<void> {
    this.#remove.run(this.#run, key);
  }

  async deletePrefix(prefix: Uint8Array): Promise<void> {
    const { where, values } = this.#below(prefix);
    this.#connection.prepare(`DELETE FROM pawl_kv WHERE ${where}`).run(...values);
  }

  async list(prefix: Uint8Array): Promise<readonly KvEntry[]> {
    const { where, values } = this.#below(prefix);
    const rows = this.#connection.prepare(`SELECT key, value FROM pawl_kv WHERE ${where} ORDER BY key`).all(...values);
    return (rows as KvEntry[]).map(({ key, value }) => ({ key: plainBytes(key), value: plainBytes(value) }));
  }

  async batch(writes: readonly KvWrite[]): Promise<void> {
    this.#connection.exec("BEGIN IMMEDIATE");
    try {
      for (const { key, value } of writes) {
        if (value === null) this.#remove.run(this.#run, key);
        else this.#put.run(this.#run, key, value);
      }
      this.#connection.exec("COMMIT");
    } catch (error) {
      this.#connection.exec("ROLLBACK");
      throw error;
    }
  }

  async setAlarm(_runId: string, at: number): Promise<void> {
    this.#setAlarm.run(this.#run, Math.ceil(at));
  }

  async clearAlarm(): Promise<void> {
    this.#clearAlarm.run(this.#run);
  }

  #below(prefix: Uint8Array): { readonly where: string; readonly values: readonly (string | Uint8Array)[] } {
    const after = afterPrefix(prefix);
    if (after === null) return { where: "run = ? AND key >= ?", values: [this.#run, prefix] };
    return { where: "run = ? AND key >= ? AND key < ?", values: [this.#run, prefix, after] };
  }
}

/** Copies bytes. Some drivers return Buffers that share memory. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}
