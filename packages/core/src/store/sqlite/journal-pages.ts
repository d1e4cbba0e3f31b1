import type { JournalRecord, Records } from "../../model/record.ts";
import type { Loaded } from "../store.ts";
import { fromColumn, fromColumnOrNull, hasEscape } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./driver.ts";

/** A record with a longer payload or detail is read alone. */
const PLAIN_BYTES = 2_048;

/** The columns of a record. */
export const COLUMNS = "seq, location, kind, outcome, attempts, started_at, at, detail, payload";

/**
 * Whether a record fits into the lists of a page. In a list of lines, an empty payload would be read as null; of a time with a fraction,
 * JSON keeps only 15 digits.
 */
const PLAIN = `(payload IS NULL OR (octet_length(payload) BETWEEN 1 AND ${PLAIN_BYTES} AND instr(payload, char(10)) = 0))
  AND instr(location, char(10)) = 0 AND coalesce(octet_length(detail), 0) <= ${PLAIN_BYTES}
  AND typeof(started_at) = 'integer' AND typeof(at) = 'integer'`;

const NEXT = `SELECT ${COLUMNS}, ${PLAIN} AS plain FROM pawl_journal WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`;

/** `page` reads shared values once. Listing them per record (`various`) costs as much as everything else. */
const SQL = {
  page: `SELECT count(*) AS count, min(seq) AS first, max(seq) AS last, min(kind) AS kind, min(outcome) AS outcome,
      min(attempts) AS attempts, count(detail) = 0 AND min(kind) = max(kind) AND min(outcome) = max(outcome)
        AND min(attempts) = max(attempts) AND max(seq) - min(seq) = count(*) - 1
        AND min(kind) <> 'operator' AS alike,
      group_concat(CASE WHEN plain THEN location ELSE '' END, char(10)) AS location,
      group_concat(CASE WHEN plain THEN coalesce(payload, '') ELSE '' END, char(10)) AS payload,
      json_group_array(CASE WHEN plain THEN at ELSE 0 END) AS at,
      json_group_array(CASE WHEN plain THEN at - started_at ELSE 0 END) AS tookMs,
      json_group_array(seq) FILTER (WHERE NOT plain) AS apart
    FROM (${NEXT})`,
  various: `SELECT json_group_array(seq) AS seq, json_group_array(kind) AS kind, json_group_array(outcome) AS outcome,
      json_group_array(attempts) AS attempts, json_group_array(CASE WHEN plain THEN detail END) AS detail,
      json_group_array(seq) FILTER (WHERE kind = 'operator') AS operatorSeqs
    FROM (${NEXT})`,
  one: `SELECT ${COLUMNS} FROM pawl_journal WHERE run = ? AND seq = ?`,
  newestAfter: `SELECT ${COLUMNS} FROM pawl_journal WHERE run = ? AND seq > ? ORDER BY seq DESC LIMIT ?`,
} as const;

interface RecordRow {
  readonly seq: number;
  readonly location: string;
  readonly kind: JournalRecord["kind"];
  readonly outcome: JournalRecord["outcome"];
  readonly attempts: number;
  readonly started_at: number;
  readonly at: number;
  readonly detail: string | null;
  readonly payload: string | null;
}

/** Reads journals in pages of a few texts each, which is faster than reading row by row. */
export class JournalPages {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  /** The records after `seq`, oldest first. All of them if `limit` is null. */
  after(key: number, seq: number, limit: number | null): Pick<Loaded, "records" | "operatorRecords"> {
    const pages: Page[] = [];
    const operatorRecords: JournalRecord[] = [];
    let length = 0;
    let last = seq;
    for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; left -= PAGE_RECORDS) {
      const requested = Math.min(left, PAGE_RECORDS);
      const row = this.#sql.page.get(key, last, requested) as PageRow;
      if (row.count === 0) break;
      const various = row.alike === 1 ? null : (this.#sql.various.get(key, last, requested) as VariousRow);
      const apart = this.#several(key, row.apart);
      pages.push(() => readPage(row, various, apart));
      if (various !== null) operatorRecords.push(...this.#several(key, various.operatorSeqs));
      length += row.count;
      last = row.last;
      if (row.count < requested) break;
    }
    const records = new PagedRecords(pages, length);
    return { records: pages.length > 1 ? records : [...records], operatorRecords };
  }

  newestAfter(key: number, seq: number, limit: number): readonly JournalRecord[] {
    return (this.#sql.newestAfter.all(key, seq, limit) as RecordRow[]).map(recordOf);
  }

  #several(key: number, seqs: string): readonly JournalRecord[] {
    return (JSON.parse(seqs) as number[]).map((seq) => recordOf(this.#sql.one.get(key, seq) as RecordRow));
  }
}

function recordOf({ started_at: startedAt, ...row }: RecordRow): JournalRecord {
  const { location, payload, detail } = row;
  return {
    ...row,
    startedAt,
    location: fromColumn(location),
    payload: fromColumnOrNull(payload),
    detail: fromColumnOrNull(detail),
  };
}

/** Consecutive records of a journal. Values that differ are lists: texts as lines, numbers as JSON. */
export interface PageRow {
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** Shared by all records if `alike` is 1: the seqs have no gap, and no record has a detail. */
  readonly kind: JournalRecord["kind"];
  readonly outcome: JournalRecord["outcome"];
  readonly attempts: number;
  readonly alike: number;
  readonly location: string;
  readonly payload: string;
  readonly at: string;
  readonly tookMs: string;
  /** The seqs of records that do not fit into the lists. */
  readonly apart: string;
}

/** The values of records that are not alike, as JSON lists. */
export interface VariousRow {
  readonly seq: string;
  readonly kind: string;
  readonly outcome: string;
  readonly attempts: string;
  readonly detail: string;
  /** The seqs of operator actions. */
  readonly operatorSeqs: string;
}

/** The records of a page. `apart` are the records that do not fit into its lists. */
export function readPage(
  row: PageRow,
  various: VariousRow | null,
  apart: readonly JournalRecord[],
): readonly JournalRecord[] {
  const { first, kind, outcome, attempts } = row;
  const locations = readLines(row.location);
  const payloads = readLines(row.payload);
  const ends: readonly number[] = JSON.parse(row.at);
  const tooks: readonly number[] = JSON.parse(row.tookMs);
  const records = locations.map((location, position): JournalRecord => {
    const at = ends[position] as number;
    const startedAt = at - (tooks[position] as number);
    const payload = payloads[position] || null;
    return { seq: first + position, location, kind, outcome, payload, attempts, startedAt, at, detail: null };
  });
  const whole = various === null ? records : withVarious(records, various);
  if (apart.length === 0) return whole;
  const bySeq = new Map(apart.map((record) => [record.seq, record]));
  return whole.map((record) => bySeq.get(record.seq) ?? record);
}

function withVarious(records: readonly JournalRecord[], various: VariousRow): readonly JournalRecord[] {
  const seqs: readonly number[] = JSON.parse(various.seq);
  const kinds: ReadonlyArray<JournalRecord["kind"]> = JSON.parse(various.kind);
  const outcomes: ReadonlyArray<JournalRecord["outcome"]> = JSON.parse(various.outcome);
  const attempts: readonly number[] = JSON.parse(various.attempts);
  const details = readTexts(various.detail);
  return records.map((record, position) => ({
    ...record,
    seq: seqs[position] as number,
    kind: kinds[position] as JournalRecord["kind"],
    outcome: outcomes[position] as JournalRecord["outcome"],
    attempts: attempts[position] as number,
    detail: details[position] as string | null,
  }));
}

/** Plain lines need no JSON parser. */
function readLines(lines: string): readonly string[] {
  const texts = lines.split("\n");
  return hasEscape(lines) ? texts.map(fromColumn) : texts;
}

function readTexts(list: string): readonly (string | null)[] {
  const texts = JSON.parse(list) as readonly (string | null)[];
  return hasEscape(list) ? texts.map(fromColumnOrNull) : texts;
}

/** How many records every page except the last has. */
export const PAGE_RECORDS = 2_048;

/** Parses the records of a page. */
export type Page = () => readonly JournalRecord[];

/**
 * A long journal. Only the page that was used last is kept as records, so iterating needs the memory of one page and creates little
 * garbage.
 */
export class PagedRecords implements Records {
  readonly length: number;
  readonly #pages: readonly Page[];
  /** The current page and the index of its first record. */
  #page: readonly JournalRecord[] = [];
  #begin = 0;

  constructor(pages: readonly Page[], length: number) {
    this.#pages = pages;
    this.length = length;
  }

  at(index: number): JournalRecord | undefined {
    const position = index < 0 ? this.length + index : index;
    const record = this.#page[position - this.#begin];
    if (record !== undefined || position < 0 || position >= this.length) return record;
    this.#begin = position - (position % PAGE_RECORDS);
    this.#page = this.#pages[this.#begin / PAGE_RECORDS]?.() ?? [];
    return this.#page[position - this.#begin];
  }

  *[Symbol.iterator](): Generator<JournalRecord> {
    for (const page of this.#pages) yield* page();
  }
}
