import { randomUUID } from "node:crypto";
import type { Ctx, SqliteTx } from "pawl";

/** A line that a transaction has written, in a table of the load's own. */
export interface BookLine {
  readonly run: string;
  readonly location: string;
  readonly body: string;
}

const CREATE = "CREATE TABLE IF NOT EXISTS chaos_books (n INTEGER PRIMARY KEY, run TEXT, location TEXT, body TEXT)";
const INSERT = "INSERT INTO chaos_books (run, location, body) VALUES (?, ?, ?)";

/** Writes a line and gives what it wrote; `throws`: takes it back by throwing. */
export function writeLine(ctx: Ctx, location: string, throws: boolean): Promise<string> {
  return ctx.transaction(
    location,
    (tx: SqliteTx) => {
      const body = randomUUID();
      tx.exec(CREATE);
      tx.prepare(INSERT).run(ctx.runId, location, body);
      if (throws) throw new Error(`line ${body} is taken back`);
      return body;
    },
    { retry: false },
  );
}
