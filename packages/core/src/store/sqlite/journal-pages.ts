import type { JournalRecord } from "../../model/record.ts";
import type { Loaded } from "../store.ts";
import { fromColumn, fromColumnOrNull } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./database.ts";
import { type PageRow, readPage, type VariousRow } from "./journal-page.ts";
import { PAGE_RECORDS, type Page, PagedRecords } from "./paged-records.ts";

/** A record whose payload or detail is longer is read by itself. */
const PLAIN_BYTES = 2_048;

/** Of a record. */
export const COLUMNS = "seq, location, kind, outcome, attempts, started_at, at, detail, payload";

/**
 * What fits into a page's lists and is there what it was: in a list of lines nothing is an empty one, and of a time with a fraction JSON
 * keeps 15 digits.
 */
const PLAIN = `(payload IS NULL OR (octet_length(payload) BETWEEN 1 AND ${PLAIN_BYTES} AND instr(payload, char(10)) = 0))
  AND instr(location, char(10)) = 0 AND coalesce(octet_length(detail), 0) <= ${PLAIN_BYTES}
  AND typeof(started_at) = 'integer' AND typeof(at) = 'integer'`;

const NEXT = `SELECT ${COLUMNS}, ${PLAIN} AS plain FROM pawl_journal WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`;

/** What most records have in common is looked at first: to gather it for each costs as much as all the rest. */
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
      json_group_array(seq) FILTER (WHERE kind = 'operator') AS acts
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

/** Reads the journals of runs: as a few texts a page, which costs less than the rows do one by one. */
export class JournalPages {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  /** The records behind `seq`, of which the oldest come first; all of them, if `limit` is null. */
  after(key: number, seq: number, limit: number | null): Pick<Loaded, "records" | "acts"> {
    const pages: Page[] = [];
    const acts: JournalRecord[] = [];
    let length = 0;
    let last = seq;
    for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; left -= PAGE_RECORDS) {
      const asked = Math.min(left, PAGE_RECORDS);
      const row = this.#sql.page.get(key, last, asked) as PageRow;
      if (row.count === 0) break;
      const various = row.alike === 1 ? null : (this.#sql.various.get(key, last, asked) as VariousRow);
      const apart = this.#several(key, row.apart);
      pages.push(() => readPage(row, various, apart));
      if (various !== null) acts.push(...this.#several(key, various.acts));
      length += row.count;
      last = row.last;
      if (row.count < asked) break;
    }
    const records = new PagedRecords(pages, length);
    return { records: pages.length > 1 ? records : [...records], acts };
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
