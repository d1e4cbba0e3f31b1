import type { Run } from "../../model/run.ts";
import type { Loaded } from "../store.ts";
import { toColumn } from "../text-column.ts";
import type { Database } from "./database.ts";
import type { KnownRun } from "./known-rows.ts";
import {
  type DocumentColumns,
  documentOf,
  type EntryValues,
  entryOf,
  knownOf,
  type RecordValues,
  type RunValues,
  recordOf,
  runOfValues,
} from "./run-rows.ts";
import { STORE_SQL } from "./statements.ts";

/** How many runs one statement reads, and how many records and bytes a run may have to be read with others. */
const BATCH_RUNS_MAX = 100;
const RECORDS_MAX = 200;
const BYTES_MAX = 65_536;

interface LoadedRow {
  readonly run: RunValues;
  /** The newest seq of its journal. */
  readonly newest: number;
  readonly snapshot: DocumentColumns | null;
  readonly records: readonly RecordValues[] | null;
  /** The number after which the inbox was read. 0 if it was read as a whole. */
  readonly after_entry: number;
  readonly inbox: readonly EntryValues[] | null;
}

interface LoadRequest {
  readonly runId: string;
  readonly afterSeq: number | null;
  readonly afterEntry: number;
}

/** Reads runs with their journals and inboxes. `learn` is called with each row. */
export function batchedLoads(
  database: Database,
  learn: (known: KnownRun) => void,
): BatchedReads<LoadRequest, Loaded | null> {
  const loadedOf = (row: LoadedRow | null, { afterEntry }: LoadRequest): Loaded | null => {
    if (row === null) return null;
    const loaded = readRow(row);
    learn({ ...knownOf(row.run, row.newest), inbox: row.after_entry === 0 ? loaded.inbox : null });
    return { ...loaded, inbox: loaded.inbox.filter(({ n }) => n > afterEntry) };
  };
  const readOne = async (request: LoadRequest): Promise<Loaded | null> => {
    const { runId, afterSeq, afterEntry } = request;
    const row = await database.call(STORE_SQL.load, [toColumn(runId), afterSeq, afterEntry]);
    return loadedOf(row as LoadedRow | null, request);
  };
  return new BatchedReads(BATCH_RUNS_MAX, async (requested) => {
    if (requested.length === 1) return Promise.all(requested.map(readOne));
    const ids = requested.map(({ runId }) => toColumn(runId));
    const values = [ids, requested.map(({ afterSeq }) => afterSeq), requested.map(({ afterEntry }) => afterEntry)];
    const rows = (await database.call(STORE_SQL.loadMany, [...values, RECORDS_MAX, BYTES_MAX])) as Found<LoadedRow>;
    return requested.map((each, index) => (rows[index] === true ? readOne(each) : loadedOf(rows[index] ?? null, each)));
  });
}

/** Reads the rows of runs. */
export function batchedRuns(database: Database): BatchedReads<string, Run | null> {
  const readOne = async (runId: string): Promise<Run | null> =>
    runOrNull((await database.call(STORE_SQL.run, [toColumn(runId)])) as RunValues | null);
  return new BatchedReads(BATCH_RUNS_MAX, async (requested) => {
    if (requested.length === 1) return Promise.all(requested.map(readOne));
    const rows = (await database.call(STORE_SQL.runs, [requested.map(toColumn), BYTES_MAX])) as Found<RunValues>;
    return requested.map((runId, index) => (rows[index] === true ? readOne(runId) : runOrNull(rows[index] ?? null)));
  });
}

/** In the order of the requests. Null if the run does not exist, true if it is too large and must be read alone. */
type Found<Row> = readonly (Row | true | null)[];

function runOrNull(values: RunValues | null): Run | null {
  return values === null ? null : runOfValues(values);
}

function readRow(row: LoadedRow): Loaded {
  return {
    run: runOfValues(row.run),
    snapshot: row.snapshot === null ? null : documentOf(row.snapshot),
    records: (row.records ?? []).map(recordOf),
    inbox: (row.inbox ?? []).map(entryOf),
  };
}

interface PendingRead<Request, Answer> {
  readonly request: Request;
  readonly resolve: (readAll: Answer | Promise<Answer>) => void;
  readonly reject: (error: unknown) => void;
}

/** Concurrent requests, such as the loads of all runs of a claim, share few statements. */
export class BatchedReads<Request, Answer> {
  readonly #max: number;
  readonly #readAll: (requests: readonly Request[]) => Promise<readonly (Answer | Promise<Answer>)[]>;
  #pending: PendingRead<Request, Answer>[] = [];

  /** `readAll` gets at most `max` requests and returns their results in order. */
  constructor(max: number, readAll: (requests: readonly Request[]) => Promise<readonly (Answer | Promise<Answer>)[]>) {
    this.#max = max;
    this.#readAll = readAll;
  }

  read(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ request, resolve, reject });
      if (this.#pending.length === 1) void Promise.resolve().then(() => this.#flush());
    });
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (let first = 0; first < pending.length; first += this.#max) {
      void this.#readBatch(pending.slice(first, first + this.#max));
    }
  }

  async #readBatch(pending: readonly PendingRead<Request, Answer>[]): Promise<void> {
    try {
      const answers = await this.#readAll(pending.map(({ request }) => request));
      for (const [index, answer] of answers.entries()) pending[index]?.resolve(answer);
    } catch (error) {
      for (const { reject } of pending) reject(error);
    }
  }
}
