import { randomUUID } from "node:crypto";
import type { Ctx, PostgresTx, SqliteTx } from "pawl";

/** A row that a transaction has written into the table of the load. */
export interface TransactionRow {
  readonly run: string;
  readonly location: string;
  readonly body: string;
}

const COLUMNS = "run TEXT, location TEXT, body TEXT";

export const ROWS_TABLE = {
  sqlite: `CREATE TABLE IF NOT EXISTS chaos_rows (n INTEGER PRIMARY KEY, ${COLUMNS})`,
  postgres: `CREATE TABLE IF NOT EXISTS chaos_rows (n BIGSERIAL PRIMARY KEY, ${COLUMNS})`,
};
export const ROWS_QUERY = "SELECT run, location, body FROM chaos_rows ORDER BY n";
const INSERT = "INSERT INTO chaos_rows (run, location, body)";

/** Writes a row in a transaction and returns its body id. With `throws` the transaction fails and writes nothing. */
export function writeRow(ctx: Ctx, location: string, throws: boolean): Promise<string> {
  return ctx.transaction(
    location,
    (tx: SqliteTx | PostgresTx) => {
      const body = randomUUID();
      const end = (): string => {
        if (throws) throw new Error(`planned failure of the transaction ${body}`);
        return body;
      };
      if ("query" in tx) return tx.query(`${INSERT} VALUES ($1, $2, $3)`, [ctx.runId, location, body]).then(end);
      tx.prepare(`${INSERT} VALUES (?, ?, ?)`).run(ctx.runId, location, body);
      return end();
    },
    { retry: false },
  );
}
