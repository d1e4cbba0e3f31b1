/** A value of a column: what is undefined is not written, and read as NULL. */
export type ColumnValue = string | number | boolean | undefined;

/** What each column holds of a row. */
export type ColumnGetters<Row, Name extends string> = { readonly [name in Name]: (row: Row) => ColumnValue };

/** Rows as columns. */
export interface Columns<Name extends string> {
  /** What is the same in all rows. */
  readonly same: { readonly [name in Name]?: ColumnValue };
  /** A list for each column that is not. */
  readonly each: { readonly [name in Name]?: readonly ColumnValue[] };
}

export function columnsOf<Row, Name extends string>(
  rows: readonly [Row, ...Row[]],
  getters: ColumnGetters<Row, Name>,
): Columns<Name> {
  const same: { [name in Name]?: ColumnValue } = {};
  const each: { [name in Name]?: readonly ColumnValue[] } = {};
  for (const name in getters) {
    const get = getters[name];
    const value = get(rows[0]);
    if (rows.every((row) => get(row) === value)) same[name] = value;
    else each[name] = rows.map(get);
  }
  return { same, each };
}
