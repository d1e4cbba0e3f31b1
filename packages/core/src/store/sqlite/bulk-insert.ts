import type { SqliteDatabase, SqliteStatement, SqliteValue } from "./driver.ts";

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

/** How many rows one statement takes, most first. */
const EQUAL_ROWS_SIZES = [16, 4, 1] as const;

/**
 * Rows that are given the same values, as those are that a commit wakes. They gather until there are enough for one statement, until one
 * comes that gets others, or until someone has to see them.
 */
export class EqualRows {
  readonly #statements: ReadonlyArray<{ readonly rows: number; readonly statement: SqliteStatement }>;
  #values: readonly SqliteValue[] = [];
  #keys: number[] = [];

  /** `update` is the statement up to the keys of its rows. */
  constructor(database: SqliteDatabase, update: string) {
    this.#statements = EQUAL_ROWS_SIZES.map((rows) => {
      const keys = Array(rows).fill("?").join(", ");
      return { rows, statement: database.prepare(`${update} WHERE key IN (${keys})`) };
    });
  }

  add(key: number, values: readonly SqliteValue[]): void {
    // A statement sees each row once: one that comes again is written again.
    if (this.#keys.length >= EQUAL_ROWS_SIZES[0] || !areEqual(values, this.#values) || this.#keys.includes(key))
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

  /** Forgets what has gathered: its transaction is rolled back. */
  drop(): void {
    this.#keys = [];
  }
}

function areEqual(left: readonly SqliteValue[], right: readonly SqliteValue[]): boolean {
  return left.every((value, index) => value === right[index]);
}
