import type { WorkflowRef } from "../../model/workflow-ref.ts";
import type { WorkerTable } from "../../rules/tables.ts";
import type { WorkerRow } from "../store.ts";
import { fromColumn, toColumn } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./driver.ts";

const SQL = {
  expiresAt: "SELECT expires_at FROM pawl_workers WHERE id = ?",
  save: `INSERT INTO pawl_workers (id, expires_at, workflows) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET
    expires_at = excluded.expires_at, workflows = coalesce(excluded.workflows, workflows)`,
  remove: "DELETE FROM pawl_workers WHERE id = ?",
  dead: "SELECT id FROM pawl_workers WHERE expires_at <= ? ORDER BY expires_at, id LIMIT ?",
  nextExpiry: "SELECT min(expires_at) AS at FROM pawl_workers WHERE id <> ?",
  all: "SELECT id, expires_at, workflows FROM pawl_workers ORDER BY id",
} as const;

interface WorkerColumns {
  readonly id: string;
  readonly expires_at: number;
  readonly workflows: string | null;
}

/** One row per worker. */
export class SqliteWorkerTable implements WorkerTable {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  expiresAt(worker: string): number | null {
    const row = this.#sql.expiresAt.get(toColumn(worker)) as { readonly expires_at: number } | undefined;
    return row?.expires_at ?? null;
  }

  save(worker: string, expiresAt: number, workflows?: readonly WorkflowRef[]): void {
    this.#sql.save.run(toColumn(worker), expiresAt, workflows === undefined ? null : JSON.stringify(workflows));
  }

  remove(worker: string): void {
    this.#sql.remove.run(toColumn(worker));
  }

  dead(now: number, limit: number): readonly string[] {
    return (this.#sql.dead.all(now, limit) as { readonly id: string }[]).map(({ id }) => fromColumn(id));
  }

  /** When the next lease of another worker expires. */
  nextExpiryAt(worker: string): number | null {
    return (this.#sql.nextExpiry.get(toColumn(worker)) as { readonly at: number | null }).at;
  }

  all(): readonly WorkerRow[] {
    const rows = this.#sql.all.all() as WorkerColumns[];
    return rows.map((row) => ({
      id: fromColumn(row.id),
      expiresAt: row.expires_at,
      workflows: row.workflows === null ? [] : (JSON.parse(row.workflows) as WorkflowRef[]),
    }));
  }
}
