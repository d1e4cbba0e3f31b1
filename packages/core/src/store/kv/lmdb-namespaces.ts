import { kinds, readArgument } from "../../model/option-check.ts";
import type { KvDriver, KvEntry, KvWrite } from "./kv-driver.ts";
import { type AlarmRow, afterPrefix, DriversByRun, earliestFirst, type Namespaces } from "./namespaces.ts";
import { decodeTuple, encodeTuple } from "./tuple.ts";

/** The part of an `lmdb` database that Pawl uses. Open it with `keyEncoding: "binary"` and `encoding: "binary"`. */
export interface LmdbDatabase {
  get(key: Uint8Array): Uint8Array | undefined;
  put(key: Uint8Array, value: Uint8Array): Promise<boolean>;
  remove(key: Uint8Array): Promise<boolean>;
  getRange(range: { start: Uint8Array; end: Uint8Array }): Iterable<{ key: Uint8Array; value: Uint8Array }>;
  /** Applies all changes of `work`, or none. */
  transaction<Value>(work: () => Value): Promise<Value>;
  /** Resolves when committed changes are on disk. */
  readonly flushed: Promise<unknown>;
}

const ROWS = 1;
const ALARMS = 2;

const DATABASE = kinds.withMethods("a database of the package lmdb", "get", "put", "remove", "getRange", "transaction");

/** Stores namespaces in one LMDB database. LMDB rejects keys above 1,978 bytes. */
export function lmdbNamespaces(database: LmdbDatabase): Namespaces {
  readArgument(DATABASE, database, "database");
  const drivers = new DriversByRun((runId) => new LmdbDriver(database, runId));
  return {
    driver: (runId) => drivers.get(runId),
    async alarms() {
      const rows: AlarmRow[] = [];
      const prefix = encodeTuple([ALARMS]);
      for (const { key, value } of database.getRange(rangeOf(prefix))) {
        rows.push({ runId: String(decodeTuple(key)[1]), at: Number(decodeTuple(value)[0]) });
      }
      return earliestFirst(rows);
    },
  };
}

class LmdbDriver implements KvDriver {
  readonly #database: LmdbDatabase;
  /** The prefix of all keys of the run. */
  readonly #prefix: Uint8Array;
  readonly #alarm: Uint8Array;

  constructor(database: LmdbDatabase, runId: string) {
    this.#database = database;
    this.#prefix = encodeTuple([ROWS, runId]);
    this.#alarm = encodeTuple([ALARMS, runId]);
  }

  async get(key: Uint8Array): Promise<Uint8Array | null> {
    const value = this.#database.get(this.#keyOf(key));
    return value === undefined ? null : Uint8Array.from(value);
  }

  async set(key: Uint8Array, value: Uint8Array): Promise<void> {
    await this.batch([{ key, value }]);
  }

  async delete(key: Uint8Array): Promise<void> {
    await this.batch([{ key, value: null }]);
  }

  async deletePrefix(prefix: Uint8Array): Promise<void> {
    const found = await this.list(prefix);
    await this.batch(found.map(({ key }) => ({ key, value: null })));
  }

  async list(prefix: Uint8Array): Promise<readonly KvEntry[]> {
    const range = rangeOf(this.#keyOf(prefix));
    return Array.from(this.#database.getRange(range), ({ key, value }) => ({
      key: Uint8Array.from(key).subarray(this.#prefix.length),
      value: Uint8Array.from(value),
    }));
  }

  async batch(writes: readonly KvWrite[]): Promise<void> {
    await this.#durably(() => {
      for (const { key, value } of writes) {
        // The transaction's promise covers these operations.
        void (value === null ? this.#database.remove(this.#keyOf(key)) : this.#database.put(this.#keyOf(key), value));
      }
    });
  }

  async setAlarm(_runId: string, at: number): Promise<void> {
    await this.#durably(() => void this.#database.put(this.#alarm, encodeTuple([at])));
  }

  async clearAlarm(): Promise<void> {
    await this.#durably(() => void this.#database.remove(this.#alarm));
  }

  async #durably(work: () => void): Promise<void> {
    await this.#database.transaction(work);
    await this.#database.flushed;
  }

  #keyOf(key: Uint8Array): Uint8Array {
    const whole = new Uint8Array(this.#prefix.length + key.length);
    whole.set(this.#prefix);
    whole.set(key, this.#prefix.length);
    return whole;
  }
}

function rangeOf(prefix: Uint8Array): { start: Uint8Array; end: Uint8Array } {
  return { start: prefix, end: afterPrefix(prefix) ?? Uint8Array.of(0xff, 0xff) };
}
