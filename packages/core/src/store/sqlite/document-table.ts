import {
  CANCELLED_DOCUMENT,
  type DocumentAttributes,
  OPEN_DOCUMENT,
  type StoredDocument,
} from "../../model/transition.ts";
import type { DocumentTable } from "../../rules/tables.ts";
import { fromColumn, fromColumnOrNull, toColumn, toColumnOrNull } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./driver.ts";

const COLUMNS = "kind, id, run_id, a, b, c, d, body";

/** The index of one attribute finds the rows; the other attributes filter them. */
const REST = "(? IS NULL OR a = ?) AND (? IS NULL OR b = ?) AND (? IS NULL OR c = ?) AND (? IS NULL OR d = ?)";

const SQL = {
  get: `SELECT ${COLUMNS} FROM pawl_documents WHERE kind = ? AND id = ?`,
  put: `INSERT INTO pawl_documents (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET run_id = excluded.run_id, a = excluded.a, b = excluded.b, c = excluded.c, d = excluded.d,
      body = excluded.body`,
  create: `INSERT INTO pawl_documents (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  mark: `UPDATE pawl_documents SET a = coalesce(?, a), b = coalesce(?, b), c = coalesce(?, c), d = coalesce(?, d)
    WHERE kind = ? AND id = ?`,
  closeOf: `UPDATE pawl_documents SET d = '${CANCELLED_DOCUMENT}' WHERE run_id = ? AND d = '${OPEN_DOCUMENT}'`,
  remove: "DELETE FROM pawl_documents WHERE kind = ? AND id = ?",
  removeOf: "DELETE FROM pawl_documents WHERE run_id = ?",
  all: `SELECT ${COLUMNS} FROM pawl_documents WHERE kind = ? AND id >= ? ORDER BY id LIMIT ?`,
  byA: `SELECT ${COLUMNS} FROM pawl_documents WHERE kind = ? AND a = ? AND id >= ? AND ${REST} ORDER BY id LIMIT ?`,
  byB: `SELECT ${COLUMNS} FROM pawl_documents WHERE kind = ? AND b = ? AND id >= ? AND ${REST} ORDER BY id LIMIT ?`,
  byC: `SELECT ${COLUMNS} FROM pawl_documents WHERE kind = ? AND c = ? AND id >= ? AND ${REST} ORDER BY id LIMIT ?`,
  byD: `SELECT ${COLUMNS} FROM pawl_documents WHERE kind = ? AND d = ? AND id >= ? AND ${REST} ORDER BY id LIMIT ?`,
} as const;

interface DocumentRow {
  readonly kind: string;
  readonly id: string;
  readonly run_id: string | null;
  readonly a: string | null;
  readonly b: string | null;
  readonly c: string | null;
  readonly d: string | null;
  readonly body: string | null;
}

export interface DocumentListQuery {
  readonly kind: string;
  readonly where: StoredDocument["attributes"];
  /** The id at which the list starts, inclusive. */
  readonly from: string;
  readonly limit: number;
}

export class SqliteDocumentTable implements DocumentTable {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  get(kind: string, id: string): StoredDocument | null {
    const row = this.#sql.get.get(toColumn(kind), toColumn(id)) as DocumentRow | undefined;
    return row === undefined ? null : documentOf(row);
  }

  put(document: StoredDocument): void {
    this.#sql.put.run(...valuesOf(document));
  }

  create(document: StoredDocument): void {
    this.#sql.create.run(...valuesOf(document));
  }

  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    this.#sql.mark.run(...columnsOf(attributes), toColumn(kind), toColumn(id));
  }

  closeOf(runId: string): void {
    this.#sql.closeOf.run(toColumn(runId));
  }

  revise(_seen: StoredDocument | null, document: StoredDocument): void {
    this.put(document);
  }

  remove(kind: string, id: string): void {
    this.#sql.remove.run(toColumn(kind), toColumn(id));
  }

  removeOf(runId: string): void {
    this.#sql.removeOf.run(toColumn(runId));
  }

  /** In the order of ids. */
  list({ kind, where, from, limit }: DocumentListQuery): readonly StoredDocument[] {
    const [a, b, c, d] = columnsOf(where);
    const choices = [
      [this.#sql.byA, a],
      [this.#sql.byB, b],
      [this.#sql.byC, c],
      [this.#sql.byD, d],
    ] as const;
    const chosen = choices.find(([, value]) => value !== null);
    const start = [toColumn(kind), toColumn(from)] as const;
    if (chosen === undefined) return (this.#sql.all.all(...start, limit) as DocumentRow[]).map(documentOf);
    const [statement, value] = chosen;
    const rest = [a, a, b, b, c, c, d, d].map((wanted) => wanted ?? null);
    return (statement.all(start[0], value ?? null, start[1], ...rest, limit) as DocumentRow[]).map(documentOf);
  }
}

function columnsOf({ a, b, c, d }: DocumentAttributes): readonly (string | null)[] {
  return [a, b, c, d].map((value) => toColumnOrNull(value ?? null));
}

function valuesOf({ kind, id, runId, body, attributes }: StoredDocument): readonly (string | null)[] {
  return [toColumn(kind), toColumn(id), toColumnOrNull(runId), ...columnsOf(attributes), toColumnOrNull(body)];
}

function documentOf(row: DocumentRow): StoredDocument {
  const attributes: { a?: string; b?: string; c?: string; d?: string } = {};
  for (const name of ["a", "b", "c", "d"] as const) {
    const value = row[name];
    if (value !== null) attributes[name] = fromColumn(value);
  }
  const { kind, id, run_id, body } = row;
  return {
    kind: fromColumn(kind),
    id: fromColumn(id),
    runId: fromColumnOrNull(run_id),
    body: fromColumnOrNull(body),
    attributes,
  };
}
