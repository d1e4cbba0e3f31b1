import type { SqliteDatabase, SqliteStatement } from "./database.ts";

/** How many rows one statement takes, most first. */
const SIZES = [16, 4, 1] as const;

/**
 * Rows of runs that a post has made ready: each with one entry more in its inbox, subscribed to no topic, and due at one time. They
 * gather until there are enough for one statement, or until someone has to see them.
 */
export class ReadyRows {
  readonly #statements: ReadonlyArray<{ readonly rows: number; readonly statement: SqliteStatement }>;
  #wakeAt: number | null = null;
  #keys: number[] = [];

  constructor(database: SqliteDatabase) {
    this.#statements = SIZES.map((rows) => ({ rows, statement: database.prepare(readyText(rows)) }));
  }

  add(key: number, wakeAt: number | null): void {
    // A statement sees each row once, and gives all of them one time.
    if (wakeAt !== this.#wakeAt || this.#keys.length >= SIZES[0] || this.#keys.includes(key)) this.flush();
    this.#wakeAt = wakeAt;
    this.#keys.push(key);
  }

  flush(): void {
    if (this.#keys.length === 0) return;
    const keys = this.#keys;
    this.#keys = [];
    let at = 0;
    for (const { rows, statement } of this.#statements) {
      for (; keys.length - at >= rows; at += rows) statement.run(this.#wakeAt, ...keys.slice(at, at + rows));
    }
  }

  /** Forgets what has gathered: its transaction is rolled back. */
  drop(): void {
    this.#keys = [];
  }
}

function readyText(rows: number): string {
  return `UPDATE pawl_runs SET inbox_last = inbox_last + 1, wake_at = ? WHERE key IN (${Array(rows).fill("?").join(", ")})`;
}
