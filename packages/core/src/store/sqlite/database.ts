/** The part of `node:sqlite` that the store uses; `@photostructure/sqlite` and better-sqlite3 have it too. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): unknown;
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
}

export type SqliteValue = string | number | null;

/** Statements by name, from constant texts. */
export type Statements<Texts> = { readonly [Name in keyof Texts]: SqliteStatement };

export function prepareAll<Texts extends Readonly<Record<string, string>>>(
  database: SqliteDatabase,
  texts: Texts,
): Statements<Texts> {
  const prepared = Object.entries(texts).map(([name, text]) => [name, database.prepare(text)] as const);
  return Object.fromEntries(prepared) as Statements<Texts>;
}
