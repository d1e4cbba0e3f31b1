import type { JournalRecord, SeqRange } from "../../model/record.ts";
import type { JournalTable, RunHead } from "../../rules/tables.ts";
import { toColumn, toColumnOrNull } from "../text-column.ts";
import { BufferedRows, insertText } from "./bulk-insert.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./driver.ts";
import type { CachedRun, HeadCache } from "./head-cache.ts";
import { COLUMNS } from "./journal-pages.ts";

/** The row of a step that succeeded at its first attempt, as most do. It binds fewer values than a row of any kind. */
const STEP_ROW = "(?, ?, ?, 'step', 'ok', 1, ?, ?, NULL, ?)";
/** The row of a message that was received. */
const LISTEN_ROW = "(?, ?, ?, 'listen', 'ok', 0, ?, ?, NULL, ?)";
const ANY_ROW = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

const SQL = {
  newest: "SELECT max(seq) AS seq FROM pawl_journal WHERE run = ?",
  insertGuarded: `INSERT INTO pawl_journal (run, ${COLUMNS})
    SELECT r.key, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM pawl_runs r WHERE r.id = ? AND r.epoch = ? AND r.ended_at IS NULL
      AND ? = 1 + coalesce((SELECT max(j.seq) FROM pawl_journal j WHERE j.run = r.key), r.base_seq)`,
  cut: "DELETE FROM pawl_journal WHERE run = ? AND seq <= ?",
  cutAfter: "DELETE FROM pawl_journal WHERE run = ? AND seq > ?",
  trim: "DELETE FROM pawl_journal WHERE run = ? AND seq BETWEEN ? AND ?",
} as const;

/** Records of runs. Rows are buffered until there are enough for one statement, or until a query must see them. */
export class SqliteJournalTable implements JournalTable {
  readonly #sql: Statements<typeof SQL>;
  readonly #cache: HeadCache;
  readonly #writeRuns: () => void;
  readonly #steps: BufferedRows;
  readonly #listens: BufferedRows;
  readonly #others: BufferedRows;

  /** `writeRuns` flushes the buffered rows of runs. */
  constructor(database: SqliteDatabase, cache: HeadCache, writeRuns: () => void) {
    this.#sql = prepareAll(database, SQL);
    this.#cache = cache;
    this.#writeRuns = writeRuns;
    const into = `pawl_journal (run, ${COLUMNS})`;
    this.#steps = new BufferedRows(database, 6, insertText(into, STEP_ROW));
    this.#listens = new BufferedRows(database, 6, insertText(into, LISTEN_ROW));
    this.#others = new BufferedRows(database, 10, insertText(into, ANY_ROW));
  }

  newestSeq(head: RunHead): number {
    return this.#newest(head, this.#cache.get(head.id));
  }

  append(head: RunHead, records: readonly JournalRecord[]): void {
    this.#append(head, records, this.#cache.get(head.id));
  }

  fill(head: RunHead, records: readonly JournalRecord[]): void {
    for (const record of records) this.#insert(head.key, record);
    const cached = this.#cache.get(head.id);
    if (cached !== undefined) cached.newest = records.at(-1)?.seq ?? cached.newest;
  }

  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    const cached = this.#cache.get(runId);
    if (cached === undefined) return this.#appendBlind(runId, epoch, records);
    const { head } = cached;
    if (head.epoch !== epoch || head.endedAt !== null) return false;
    if (records[0]?.seq !== this.#newest(head, cached) + 1) return false;
    this.#append(head, records, cached);
    return true;
  }

  cut(head: RunHead, seqMax: number): void {
    this.#forgetNewest(head);
    this.#sql.cut.run(head.key, seqMax);
  }

  cutAfter(head: RunHead, seq: number): void {
    this.#forgetNewest(head);
    this.#sql.cutAfter.run(head.key, seq);
  }

  trim(head: RunHead, { from, to }: SeqRange): void {
    this.flush();
    this.#sql.trim.run(head.key, from, to);
  }

  /** Writes the buffered rows. */
  flush(): void {
    this.#steps.flush();
    this.#listens.flush();
    this.#others.flush();
  }

  /** Discards the buffered rows, because their transaction is rolled back. */
  drop(): void {
    this.#steps.drop();
    this.#listens.drop();
    this.#others.drop();
  }

  #forgetNewest(head: RunHead): void {
    this.flush();
    const cached = this.#cache.get(head.id);
    if (cached !== undefined) cached.newest = null;
  }

  #newest(head: RunHead, cached: CachedRun | undefined): number {
    if (cached !== undefined && cached.newest !== null) return cached.newest;
    this.flush();
    const row = this.#sql.newest.get(head.key) as { readonly seq: number | null } | undefined;
    const newest = row?.seq ?? head.baseSeq;
    if (cached !== undefined) cached.newest = newest;
    return newest;
  }

  #append(head: RunHead, records: readonly JournalRecord[], cached: CachedRun | undefined): void {
    let newest = this.#newest(head, cached);
    for (const record of records) {
      if (record.seq !== newest + 1) {
        throw new Error(`record ${record.seq} of run ${head.id} does not follow ${newest}`);
      }
      this.#insert(head.key, record);
      newest = record.seq;
    }
    if (cached !== undefined) cached.newest = newest;
  }

  #insert(key: number, record: JournalRecord): void {
    const { seq, location, kind, outcome, attempts, startedAt, at, detail, payload } = record;
    const where = toColumn(location);
    const text = toColumnOrNull(payload);
    const plain = outcome === "ok" && detail === null ? this.#plainRows(kind, attempts) : null;
    if (plain !== null) {
      plain.add([key, seq, where, startedAt, at, text]);
      if (plain.isFull) plain.flush();
      return;
    }
    this.#others.add([key, seq, where, kind, outcome, attempts, startedAt, at, toColumnOrNull(detail), text]);
    if (this.#others.isFull) this.#others.flush();
  }

  /** The buffer for a successful record without details. Null if it has no special one. */
  #plainRows(kind: JournalRecord["kind"], attempts: number): BufferedRows | null {
    if (kind === "step") return attempts === 1 ? this.#steps : null;
    return kind === "listen" && attempts === 0 ? this.#listens : null;
  }

  /** The run is not cached, so the statement checks its guards. */
  #appendBlind(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    const id = toColumn(runId);
    this.#writeRuns();
    this.flush();
    for (const record of records) {
      const { seq, location, kind, outcome, attempts, startedAt, at, detail, payload } = record;
      const texts = [toColumnOrNull(detail), toColumnOrNull(payload)] as const;
      const values = [seq, toColumn(location), kind, outcome, attempts, startedAt, at, ...texts] as const;
      if (Number(this.#sql.insertGuarded.run(...values, id, epoch, seq).changes) === 1) continue;
      if (record === records[0]) return false;
      throw new Error(`record ${seq} of run ${runId} does not follow the one before it`);
    }
    return true;
  }
}
