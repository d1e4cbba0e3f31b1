import type { LetterRow, LetterTable } from "../../rules/tables.ts";
import { fromColumn, fromColumnOrNull, toColumn, toColumnOrNull } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./driver.ts";

const COLUMNS = "n, id, kind, post_id, target, name, reason, status, sent_at, dead_at, value";

const SQL = {
  get: `SELECT ${COLUMNS} FROM pawl_letters WHERE id = ?`,
  insert: `INSERT INTO pawl_letters (id, kind, post_id, target, name, reason, status, sent_at, dead_at, value)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  remove: "DELETE FROM pawl_letters WHERE id = ?",
  removeBefore: `DELETE FROM pawl_letters WHERE n IN
    (SELECT n FROM pawl_letters WHERE dead_at < ? ORDER BY dead_at, n LIMIT ?)`,
  below: `SELECT ${COLUMNS} FROM pawl_letters WHERE n < ? ORDER BY n DESC LIMIT ?`,
} as const;

interface LetterColumns {
  readonly n: number;
  readonly id: string;
  readonly kind: LetterRow["kind"];
  readonly post_id: string;
  readonly target: string;
  readonly name: string;
  readonly reason: LetterRow["reason"];
  readonly status: string | null;
  readonly sent_at: number;
  readonly dead_at: number;
  readonly value: string | null;
}

export class SqliteLetterTable implements LetterTable {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  get(id: string): LetterRow | null {
    const row = this.#sql.get.get(toColumn(id)) as LetterColumns | undefined;
    return row === undefined ? null : letterOf(row);
  }

  insert(letter: LetterRow): void {
    this.#sql.insert.run(
      toColumn(letter.id),
      letter.kind,
      toColumn(letter.postId),
      toColumn(letter.target),
      toColumn(letter.name),
      letter.reason,
      letter.status,
      letter.sentAt,
      letter.deadAt,
      toColumnOrNull(letter.value),
    );
  }

  remove(id: string): void {
    this.#sql.remove.run(toColumn(id));
  }

  removeBefore(before: number, limit: number): number {
    return Number(this.#sql.removeBefore.run(before, limit).changes);
  }

  /** Returns letters with numbers below `n`, newest first. */
  below(n: number, limit: number): readonly { readonly n: number; readonly letter: LetterRow }[] {
    const rows = this.#sql.below.all(n, limit) as LetterColumns[];
    return rows.map((row) => ({ n: row.n, letter: letterOf(row) }));
  }
}

function letterOf(row: LetterColumns): LetterRow {
  return {
    id: fromColumn(row.id),
    kind: row.kind,
    target: fromColumn(row.target),
    name: fromColumn(row.name),
    value: fromColumnOrNull(row.value),
    reason: row.reason,
    status: row.status,
    sentAt: row.sent_at,
    deadAt: row.dead_at,
    postId: fromColumn(row.post_id),
  };
}
