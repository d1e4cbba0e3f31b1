/** What SQLite takes and gives back. */
export type SqliteTxValue = string | number | bigint | Uint8Array | null;

/** A statement of a transaction, good until the transaction's body returns. */
export interface SqliteTxStatement {
  run(...values: readonly SqliteTxValue[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...values: readonly SqliteTxValue[]): unknown;
  all(...values: readonly SqliteTxValue[]): unknown[];
}

/**
 * The SQLite store's own transaction, as the body of `ctx.transaction` has it. It takes one statement at a time, and none that
 * would end the transaction or reach beyond it.
 */
export interface SqliteTx {
  prepare(sql: string): SqliteTxStatement;
  exec(sql: string): void;
}

/**
 * The PostgreSQL store's own transaction, as the body of `ctx.transaction` has it: as a client of the package `pg` is asked, one
 * statement at a time, and none that would end the transaction.
 */
export interface PostgresTx {
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>;
}

/** The memory store's transaction: values by key, kept when the body returns. */
export interface MemoryTx {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): void;
  keys(): readonly string[];
}

/**
 * A transaction on the store's own database, as calls of the engine take it: one of `ctx.transaction`, or a connection of yours
 * that has a transaction open. Of a SQLite connection `prepare` is all that is needed.
 */
export type EngineTx = MemoryTx | PostgresTx | { prepare(sql: string): Pick<SqliteTxStatement, "run" | "get" | "all"> };
