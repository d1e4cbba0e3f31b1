/** A value that SQLite can store and return. */
export type SqliteTxValue = string | number | bigint | Uint8Array | null;

/** A prepared statement of a transaction. Usable until the transaction function returns. */
export interface SqliteTxStatement {
  run(...values: readonly SqliteTxValue[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...values: readonly SqliteTxValue[]): unknown;
  all(...values: readonly SqliteTxValue[]): unknown[];
}

/**
 * The transaction that `ctx.transaction` passes on the SQLite store. It accepts one statement per call, and rejects statements that would
 * end the transaction or affect more than it.
 */
export interface SqliteTx {
  prepare(sql: string): SqliteTxStatement;
  exec(sql: string): void;
}

/**
 * The transaction that `ctx.transaction` passes on the PostgreSQL store. Its `query` is that of a client of the package `pg`. It accepts
 * one statement per call, and rejects statements that would end the transaction.
 */
export interface PostgresTx {
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>;
}

/** The transaction that `ctx.transaction` passes on the memory store: values by key, committed when the transaction function returns. */
export interface MemoryTx {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): void;
  keys(): readonly string[];
}

/**
 * A transaction on the store's database that calls of the engine accept: that of `ctx.transaction`, or your connection with an open
 * transaction. A SQLite connection needs only `prepare`.
 */
export type EngineTx = MemoryTx | PostgresTx | { prepare(sql: string): Pick<SqliteTxStatement, "run" | "get" | "all"> };
