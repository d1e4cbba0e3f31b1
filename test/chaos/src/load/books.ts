import { randomUUID } from "node:crypto";
import type { Ctx, PostgresTx, SqliteTx } from "pawl";

/** A line that a transaction has written, in a table of the load's own. */
export interface BookLine {
  readonly run: string;
  readonly location: string;
  readonly body: string;
}

const COLUMNS = "run TEXT, location TEXT, body TEXT";

export const BOOKS_TABLE = {
  sqlite: `CREATE TABLE IF NOT EXISTS chaos_books (n INTEGER PRIMARY KEY, ${COLUMNS})`,
  postgres: `CREATE TABLE IF NOT EXISTS chaos_books (n BIGSERIAL PRIMARY KEY, ${COLUMNS})`,
};
export const BOOKS_READ = "SELECT run, location, body FROM chaos_books ORDER BY n";
const INSERT = "INSERT INTO chaos_books (run, location, body)";

/** Writes a line and gives what it wrote; `throws`: takes it back by throwing. Where code may wait, it waits for the database. */
export function writeLine(ctx: Ctx, location: string, throws: boolean): Promise<string> {
  return ctx.transaction(
    location,
    (tx: SqliteTx | PostgresTx) => {
      const body = randomUUID();
      const end = (): string => {
        if (throws) throw new Error(`line ${body} is taken back`);
        return body;
      };
      if ("query" in tx) return tx.query(`${INSERT} VALUES ($1, $2, $3)`, [ctx.runId, location, body]).then(end);
      tx.prepare(`${INSERT} VALUES (?, ?, ?)`).run(ctx.runId, location, body);
      return end();
    },
    { retry: false },
  );
}
