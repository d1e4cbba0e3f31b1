import type { MemoryTx, SqliteTx } from "../model/tx.ts";

/** Lines that transactions have written, in whatever store: so that one test tries them all. */
export const ledger = {
  add(tx: SqliteTx | MemoryTx, line: string): void {
    if (!("prepare" in tx)) {
      tx.set("ledger", [...ledger.lines(tx), line]);
      return;
    }
    tx.exec("CREATE TABLE IF NOT EXISTS ledger (n INTEGER PRIMARY KEY, line TEXT NOT NULL)");
    tx.prepare("INSERT INTO ledger (line) VALUES (?)").run(line);
  },

  lines(tx: SqliteTx | MemoryTx): string[] {
    if (!("prepare" in tx)) return (tx.get("ledger") as string[] | undefined) ?? [];
    tx.exec("CREATE TABLE IF NOT EXISTS ledger (n INTEGER PRIMARY KEY, line TEXT NOT NULL)");
    const rows = tx.prepare("SELECT line FROM ledger ORDER BY n").all() as Array<{ readonly line: string }>;
    return rows.map(({ line }) => line);
  },
};
