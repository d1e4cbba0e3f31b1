import type { SqliteDatabase, SqliteStatement, SqliteValue } from "./database.ts";

/** How many rows one statement takes, most first. Each call of the driver costs as much as writing a row does. */
const SIZES = [16, 4, 1] as const;

/** Rows for one kind of statement, gathered until there are enough for one that takes many of them, or until someone has to see them. */
export class GatheredRows {
  readonly #width: number;
  readonly #statements: ReadonlyArray<{ readonly rows: number; readonly statement: SqliteStatement }>;
  #values: SqliteValue[] = [];

  /** `width` values are a row; `text` is the statement that takes so many rows. */
  constructor(database: SqliteDatabase, width: number, text: (rows: number) => string) {
    this.#width = width;
    this.#statements = SIZES.map((rows) => ({ rows, statement: database.prepare(text(rows)) }));
  }

  get isEmpty(): boolean {
    return this.#values.length === 0;
  }

  get isFull(): boolean {
    return this.#values.length >= SIZES[0] * this.#width;
  }

  /** Keeps a row; whoever adds writes what has gathered once it `isFull`. */
  add(row: readonly SqliteValue[]): void {
    for (const value of row) this.#values.push(value);
  }

  /** Writes the rows that have gathered. */
  flush(): void {
    const values = this.#values;
    if (values.length === 0) return;
    this.#values = [];
    let at = 0;
    for (const { rows, statement } of this.#statements) {
      const width = rows * this.#width;
      for (; values.length - at >= width; at += width) {
        statement.run(...(values.length === width ? values : values.slice(at, at + width)));
      }
    }
  }

  /** Forgets the rows that have gathered: their transaction is rolled back. */
  drop(): void {
    this.#values = [];
  }
}

/** The text of an insert of so many rows. */
export function insertText(into: string, row: string): (rows: number) => string {
  return (rows) => `INSERT INTO ${into} VALUES ${Array(rows).fill(row).join(", ")}`;
}
