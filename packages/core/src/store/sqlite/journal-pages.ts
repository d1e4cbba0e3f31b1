import type { JournalRecord } from "../../model/record.ts";
import { fromColumn, fromColumnOrNull, hasEscape } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./database.ts";

/** More is not gathered into one text: with every character escaped it is still shorter than the longest there can be. */
const PAGE_RECORDS = 20_000;
const PLAIN_CHARACTERS = 2_048;

/** Of a record. */
export const COLUMNS = "seq, location, kind, outcome, attempts, started_at, at, detail, payload";

/** What fits into a page's text and is there what it was: of a time with a fraction JSON keeps 15 digits. */
const PLAIN = `coalesce(length(payload), 0) + coalesce(length(detail), 0) <= ${PLAIN_CHARACTERS}
  AND typeof(started_at) = 'integer' AND typeof(at) = 'integer'`;

const SQL = {
  page: `SELECT json_group_array(json_object('seq', seq, 'location', location, 'kind', kind, 'outcome', outcome,
      'payload', CASE WHEN plain THEN payload END, 'attempts', attempts, 'startedAt', started_at, 'at', at,
      'detail', CASE WHEN plain THEN detail END)) AS records,
      json_group_array(seq) FILTER (WHERE NOT plain) AS others
    FROM (SELECT ${COLUMNS}, ${PLAIN} AS plain FROM pawl_journal WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?)`,
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

/** Reads the journals of runs: as one text a page, which costs less than the rows do one by one. */
export class JournalPages {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  /** The records behind `seq`, of which the oldest come first; all of them, if `limit` is null. */
  after(key: number, seq: number, limit: number | null): readonly JournalRecord[] {
    let records: readonly JournalRecord[] = [];
    for (let left = limit ?? Number.POSITIVE_INFINITY; left > 0; left -= PAGE_RECORDS) {
      const count = Math.min(left, PAGE_RECORDS);
      const page = this.#page(key, records.at(-1)?.seq ?? seq, count);
      records = records.concat(page);
      if (page.length < count) break;
    }
    return records;
  }

  newestAfter(key: number, seq: number, limit: number): readonly JournalRecord[] {
    return (this.#sql.newestAfter.all(key, seq, limit) as RecordRow[]).map(recordOf);
  }

  #page(key: number, seq: number, limit: number): readonly JournalRecord[] {
    const { records: text, others } = this.#sql.page.get(key, seq, limit) as Record<"records" | "others", string>;
    const records = JSON.parse(text) as JournalRecord[];
    const whole = new Map((JSON.parse(others) as number[]).map((other) => [other, this.#one(key, other)]));
    if (whole.size === 0 && !hasEscape(text)) return records;
    return records.map((record) => whole.get(record.seq) ?? unescaped(record));
  }

  #one(key: number, seq: number): JournalRecord {
    return recordOf(this.#sql.one.get(key, seq) as RecordRow);
  }
}

function unescaped(record: JournalRecord): JournalRecord {
  const { location, payload, detail } = record;
  return {
    ...record,
    location: fromColumn(location),
    payload: fromColumnOrNull(payload),
    detail: fromColumnOrNull(detail),
  };
}

function recordOf({ started_at: startedAt, ...row }: RecordRow): JournalRecord {
  return unescaped({ ...row, startedAt });
}
