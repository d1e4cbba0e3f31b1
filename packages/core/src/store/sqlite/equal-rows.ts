import type { SqliteDatabase, SqliteStatement, SqliteValue } from "./database.ts";

/** How many rows one statement takes, most first. */
const SIZES = [16, 4, 1] as const;

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
    this.#statements = SIZES.map((rows) => {
      const keys = Array(rows).fill("?").join(", ");
      return { rows, statement: database.prepare(`${update} WHERE key IN (${keys})`) };
    });
  }

  add(key: number, values: readonly SqliteValue[]): void {
    // A statement sees each row once: one that comes again is written again.
    if (this.#keys.length >= SIZES[0] || !areEqual(values, this.#values) || this.#keys.includes(key)) this.flush();
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
