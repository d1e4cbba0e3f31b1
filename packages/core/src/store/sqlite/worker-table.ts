import type { WorkerRow } from "../store.ts";
import type { WorkerTable } from "../tables.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./database.ts";
import { fromColumn, toColumn } from "./text.ts";

const SQL = {
  expiresAt: "SELECT expires_at FROM pawl_workers WHERE id = ?",
  save: "INSERT INTO pawl_workers (id, expires_at) VALUES (?, ?) ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at",
  remove: "DELETE FROM pawl_workers WHERE id = ?",
  dead: "SELECT id FROM pawl_workers WHERE expires_at <= ? ORDER BY expires_at, id LIMIT ?",
  all: "SELECT id, expires_at FROM pawl_workers ORDER BY id",
} as const;

/** Few rows: one a process. */
export class SqliteWorkerTable implements WorkerTable {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  expiresAt(worker: string): number | null {
    const row = this.#sql.expiresAt.get(toColumn(worker)) as { readonly expires_at: number } | undefined;
    return row?.expires_at ?? null;
  }

  save(worker: string, expiresAt: number): void {
    this.#sql.save.run(toColumn(worker), expiresAt);
  }

  remove(worker: string): void {
    this.#sql.remove.run(toColumn(worker));
  }

  dead(now: number, limit: number): readonly string[] {
    return (this.#sql.dead.all(now, limit) as { readonly id: string }[]).map(({ id }) => fromColumn(id));
  }

  all(): readonly WorkerRow[] {
    const rows = this.#sql.all.all() as { readonly id: string; readonly expires_at: number }[];
    return rows.map((row) => ({ id: fromColumn(row.id), expiresAt: row.expires_at }));
  }
}
