import type { Loaded } from "../store.ts";
import { toColumn } from "../text-column.ts";
import type { Database } from "./database.ts";
import {
  type DocumentColumns,
  documentOf,
  type EntryValues,
  entryOf,
  type RecordValues,
  type RunValues,
  recordOf,
  runOfValues,
} from "./run-rows.ts";
import { STORE_SQL } from "./store-sql.ts";

/** How many runs are read by one statement, and what a run may have to be read with others: records, and bytes of everything. */
const TOGETHER_MAX = 100;
const RECORDS_MAX = 200;
const BYTES_MAX = 65_536;

interface LoadedRow {
  readonly run: RunValues;
  readonly snapshot: DocumentColumns | null;
  readonly records: readonly RecordValues[] | null;
  readonly inbox: readonly EntryValues[] | null;
}

interface Asked {
  readonly runId: string;
  readonly afterSeq: number | null;
  readonly settle: (loaded: Loaded | null | Promise<Loaded | null>) => void;
  readonly fail: (error: unknown) => void;
}

/** Reads runs. What is asked for at once, as after a claim, is read by few statements instead of one a run. */
export class Loads {
  readonly #database: Database;
  #asked: Asked[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  load(runId: string, afterSeq: number | null): Promise<Loaded | null> {
    return new Promise((settle, fail) => {
      this.#asked.push({ runId, afterSeq, settle, fail });
      if (this.#asked.length === 1) void Promise.resolve().then(() => this.#readAll());
    });
  }

  #readAll(): void {
    const asked = this.#asked;
    this.#asked = [];
    for (let first = 0; first < asked.length; first += TOGETHER_MAX) {
      void this.#read(asked.slice(first, first + TOGETHER_MAX));
    }
  }

  async #read(asked: readonly Asked[]): Promise<void> {
    try {
      const [only] = asked;
      if (asked.length === 1 && only !== undefined) only.settle(await this.#readOne(only));
      else await this.#readMany(asked);
    } catch (error) {
      for (const { fail } of asked) fail(error);
    }
  }

  async #readOne({ runId, afterSeq }: Asked): Promise<Loaded | null> {
    return loadedOf((await this.#database.call(STORE_SQL.load, [toColumn(runId), afterSeq])) as LoadedRow | null);
  }

  async #readMany(asked: readonly Asked[]): Promise<void> {
    const ids = asked.map(({ runId }) => toColumn(runId));
    const seqs = asked.map(({ afterSeq }) => afterSeq);
    const values = [ids, seqs, RECORDS_MAX, BYTES_MAX];
    const rows = (await this.#database.call(STORE_SQL.loadMany, values)) as readonly (LoadedRow | true | null)[];
    for (const [index, each] of asked.entries()) {
      const row = rows[index] ?? null;
      each.settle(row === true ? this.#readOne(each) : loadedOf(row));
    }
  }
}

function loadedOf(row: LoadedRow | null): Loaded | null {
  if (row === null) return null;
  return {
    run: runOfValues(row.run),
    snapshot: row.snapshot === null ? null : documentOf(row.snapshot),
    records: (row.records ?? []).map(recordOf),
    inbox: (row.inbox ?? []).map(entryOf),
  };
}
