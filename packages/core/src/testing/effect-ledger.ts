import type { MemoryTx, SqliteTx } from "../model/tx.ts";

/** A list of lines that transactions write, for the memory store and SQLite, so that one test covers both. */
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
