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

/** How many runs are read by one statement, and what a run may have to be read with others: records, and bytes of everything. */
const TOGETHER_MAX = 100;
const RECORDS_MAX = 200;
const BYTES_MAX = 65_536;

interface LoadedRow {
  readonly run: RunValues;
  /** The newest seq of its journal. */
  readonly newest: number;
  readonly snapshot: DocumentColumns | null;
  readonly records: readonly RecordValues[] | null;
  readonly inbox: readonly EntryValues[] | null;
}

interface Asked {
  readonly runId: string;
  readonly afterSeq: number | null;
}

/** Reads runs, with their journals and inboxes. `learn` hears what each row was. */
export function gatheredLoads(
  database: Database,
  learn: (known: KnownRun) => void,
): BatchedReads<Asked, Loaded | null> {
  const loadedOf = (row: LoadedRow | null): Loaded | null => {
    if (row === null) return null;
    const loaded = readRow(row);
    learn({ ...knownOf(row.run, row.newest), inbox: loaded.inbox });
    return loaded;
  };
  const readOne = async ({ runId, afterSeq }: Asked): Promise<Loaded | null> =>
    loadedOf((await database.call(STORE_SQL.load, [toColumn(runId), afterSeq])) as LoadedRow | null);
  return new BatchedReads(TOGETHER_MAX, async (asked) => {
    if (asked.length === 1) return Promise.all(asked.map(readOne));
    const ids = asked.map(({ runId }) => toColumn(runId));
    const seqs = asked.map(({ afterSeq }) => afterSeq);
    const rows = (await database.call(STORE_SQL.loadMany, [ids, seqs, RECORDS_MAX, BYTES_MAX])) as Found<LoadedRow>;
    return asked.map((each, index) => (rows[index] === true ? readOne(each) : loadedOf(rows[index] ?? null)));
  });
}

/** Reads the rows of runs. */
export function gatheredRuns(database: Database): BatchedReads<string, Run | null> {
  const readOne = async (runId: string): Promise<Run | null> =>
    runOrNull((await database.call(STORE_SQL.run, [toColumn(runId)])) as RunValues | null);
  return new BatchedReads(TOGETHER_MAX, async (asked) => {
    if (asked.length === 1) return Promise.all(asked.map(readOne));
    const rows = (await database.call(STORE_SQL.runs, [asked.map(toColumn), BYTES_MAX])) as Found<RunValues>;
    return asked.map((runId, index) => (rows[index] === true ? readOne(runId) : runOrNull(rows[index] ?? null)));
  });
}

/** In the order in which they were asked for: null where there is no such run, true where it is too large to come with others. */
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

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly settle: (answer: Answer | Promise<Answer>) => void;
  readonly fail: (error: unknown) => void;
}

/** Questions that are asked at once, as of all runs of a claim, are put to the database together: few statements instead of many. */
export class BatchedReads<Question, Answer> {
  readonly #max: number;
  readonly #answer: (questions: readonly Question[]) => Promise<readonly (Answer | Promise<Answer>)[]>;
  #waiting: Waiting<Question, Answer>[] = [];

  /** `answer` gets at most so many at a time, and answers each at its place. */
  constructor(max: number, answer: (questions: readonly Question[]) => Promise<readonly (Answer | Promise<Answer>)[]>) {
    this.#max = max;
    this.#answer = answer;
  }

  ask(question: Question): Promise<Answer> {
    return new Promise((settle, fail) => {
      this.#waiting.push({ question, settle, fail });
      if (this.#waiting.length === 1) void Promise.resolve().then(() => this.#askAll());
    });
  }

  #askAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let first = 0; first < waiting.length; first += this.#max) {
      void this.#put(waiting.slice(first, first + this.#max));
    }
  }

  async #put(waiting: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await this.#answer(waiting.map(({ question }) => question));
      for (const [index, answer] of answers.entries()) waiting[index]?.settle(answer);
    } catch (error) {
      for (const { fail } of waiting) fail(error);
    }
  }
}
