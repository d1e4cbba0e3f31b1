import type { JournalRecord } from "../../model/record.ts";
import type { JournalTable, RunHead } from "../tables.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./database.ts";
import { fromColumn, fromColumnOrNull, toColumn, toColumnOrNull } from "./text.ts";

const COLUMNS = "seq, location, kind, outcome, attempts, started_at, at, detail, payload";

const SQL = {
  newest: "SELECT max(seq) AS seq FROM pawl_journal WHERE run = ?",
  has: "SELECT 1 FROM pawl_journal WHERE run = ? AND seq = ?",
  insert: `INSERT INTO pawl_journal (run, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  insertGuarded: `INSERT INTO pawl_journal (run, ${COLUMNS})
    SELECT key, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM pawl_runs WHERE id = ? AND epoch = ? AND ended_at IS NULL AND base_seq < ?
    ON CONFLICT DO NOTHING`,
  cut: "DELETE FROM pawl_journal WHERE run = ? AND seq <= ?",
  after: `SELECT ${COLUMNS} FROM pawl_journal WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`,
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

export class SqliteJournalTable implements JournalTable {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  newestSeq(head: RunHead): number {
    const row = this.#sql.newest.get(head.key) as { readonly seq: number | null } | undefined;
    return row?.seq ?? head.baseSeq;
  }

  has(head: RunHead, seq: number): boolean {
    return this.#sql.has.get(head.key, seq) !== undefined;
  }

  append(head: RunHead, records: readonly JournalRecord[]): void {
    for (const record of records) {
      this.#sql.insert.run(
        head.key,
        record.seq,
        toColumn(record.location),
        record.kind,
        record.outcome,
        record.attempts,
        record.startedAt,
        record.at,
        toColumnOrNull(record.detail),
        toColumnOrNull(record.payload),
      );
    }
  }

  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    const id = toColumn(runId);
    for (const record of records) {
      const { changes } = this.#sql.insertGuarded.run(
        record.seq,
        toColumn(record.location),
        record.kind,
        record.outcome,
        record.attempts,
        record.startedAt,
        record.at,
        toColumnOrNull(record.detail),
        toColumnOrNull(record.payload),
        id,
        epoch,
        record.seq,
      );
      if (Number(changes) === 1) continue;
      if (record === records[0]) return false;
      throw new Error(`record ${record.seq} of run ${runId} is there without the one before it`);
    }
    return true;
  }

  cut(head: RunHead, seqMax: number): void {
    this.#sql.cut.run(head.key, seqMax);
  }

  after(key: number, seq: number, limit: number): readonly JournalRecord[] {
    return (this.#sql.after.all(key, seq, limit) as RecordRow[]).map(recordOf);
  }
}

function recordOf(row: RecordRow): JournalRecord {
  return {
    seq: row.seq,
    location: fromColumn(row.location),
    kind: row.kind,
    outcome: row.outcome,
    payload: fromColumnOrNull(row.payload),
    attempts: row.attempts,
    startedAt: row.started_at,
    at: row.at,
    detail: fromColumnOrNull(row.detail),
  };
}
