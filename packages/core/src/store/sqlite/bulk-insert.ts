import type { SqliteDatabase, SqliteStatement, SqliteValue } from "./driver.ts";

/** How many rows one statement takes, largest first. A call of the driver costs as much as writing a row. */
const ROWS_PER_STATEMENT = [16, 4, 1] as const;

/** Buffers rows of one insert or delete until there are enough for one statement, or until a query must see them. */
export class BufferedRows {
  readonly #width: number;
  readonly #statements: ReadonlyArray<{ readonly rows: number; readonly statement: SqliteStatement }>;
  #values: SqliteValue[] = [];

  /** A row has `width` values. `text` returns the statement for a number of rows. */
  constructor(database: SqliteDatabase, width: number, text: (rows: number) => string) {
    this.#width = width;
    this.#statements = ROWS_PER_STATEMENT.map((rows) => ({ rows, statement: database.prepare(text(rows)) }));
  }

  get isEmpty(): boolean {
    return this.#values.length === 0;
  }

  get isFull(): boolean {
    return this.#values.length >= ROWS_PER_STATEMENT[0] * this.#width;
  }

  /** Buffers a row. The caller flushes when the buffer `isFull`. */
  add(row: readonly SqliteValue[]): void {
    for (const value of row) this.#values.push(value);
  }

  /** Writes the buffered rows. */
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

  /** Discards the buffered rows, because their transaction is rolled back. */
  drop(): void {
    this.#values = [];
  }
}

/** Returns the text of an insert for a number of rows. */
export function insertText(into: string, row: string): (rows: number) => string {
  return (rows) => `INSERT INTO ${into} VALUES ${Array(rows).fill(row).join(", ")}`;
}

/**
 * Buffers updates that set the same values, such as the wake-ups of a commit, until there are enough for one statement, until other
 * values come, or until a query must see them.
 */
export class BufferedUpdates {
  readonly #statements: ReadonlyArray<{ readonly rows: number; readonly statement: SqliteStatement }>;
  #values: readonly SqliteValue[] = [];
  #keys: number[] = [];

  /** `update` is the statement without its WHERE clause. */
  constructor(database: SqliteDatabase, update: string) {
    this.#statements = ROWS_PER_STATEMENT.map((rows) => {
      const keys = Array(rows).fill("?").join(", ");
      return { rows, statement: database.prepare(`${update} WHERE key IN (${keys})`) };
    });
  }

  add(key: number, values: readonly SqliteValue[]): void {
    // A statement updates each row once, so a repeated row needs another statement.
    if (this.#keys.length >= ROWS_PER_STATEMENT[0] || !areEqual(values, this.#values) || this.#keys.includes(key))
      this.flush();
    this.#values = values;
    this.#keys.push(key);
  }

  flush(): void {
    if (this.#keys.length === 0) return;
    const keys = this.#keys;
    this.#keys = [];
    let at = 0;
    for (const { rows, statement } of this.#statements) {
      for (; keys.length - at >= rows; at += rows) statement.run(...this.#values, ...keys.slice(at, at + rows));
    }
  }

  /** Discards the buffered updates, because their transaction is rolled back. */
  drop(): void {
    this.#keys = [];
  }
}

function areEqual(left: readonly SqliteValue[], right: readonly SqliteValue[]): boolean {
  return left.every((value, index) => value === right[index]);
}
