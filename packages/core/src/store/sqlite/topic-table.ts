import type { RunHead, TopicTable } from "../tables.ts";
import { fromColumn, toColumn } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./database.ts";
import { HEAD_COLUMN, type HeadRow, headOf } from "./run-columns.ts";

const SQL = {
  subscribed: "SELECT topic FROM pawl_waiters WHERE run = ?",
  subscribe: "INSERT INTO pawl_waiters (topic, run) VALUES (?, ?) ON CONFLICT DO NOTHING",
  leave: "DELETE FROM pawl_waiters WHERE run = ? AND topic = ?",
  unsubscribe: "DELETE FROM pawl_waiters WHERE run = ?",
  waiters: `SELECT ${HEAD_COLUMN} FROM pawl_waiters w JOIN pawl_runs r ON r.key = w.run
    WHERE w.topic = ? ORDER BY w.place LIMIT ?`,
  seen: "SELECT n FROM pawl_topics_seen WHERE run = ? AND topic = ?",
  setSeen: "INSERT INTO pawl_topics_seen (run, topic, n) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = excluded.n",
  forgetSeen: "DELETE FROM pawl_topics_seen WHERE run = ?",
} as const;

export class SqliteTopicTable implements TopicTable {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  subscribe(head: RunHead, topics: readonly string[]): void {
    const before = head.topics === 0 ? [] : (this.#sql.subscribed.all(head.key) as { readonly topic: string }[]);
    for (const { topic } of before) {
      if (!topics.includes(fromColumn(topic))) this.#sql.leave.run(head.key, topic);
    }
    for (const topic of topics) this.#sql.subscribe.run(toColumn(topic), head.key);
  }

  unsubscribe(head: RunHead): void {
    this.#sql.unsubscribe.run(head.key);
  }

  longestWaiter(topic: string): RunHead | null {
    return this.#waiters(topic, 1)[0] ?? null;
  }

  waiters(topic: string): readonly RunHead[] {
    return this.#waiters(topic, -1);
  }

  seen(head: RunHead, topic: string): number {
    const row = this.#sql.seen.get(head.key, toColumn(topic)) as { readonly n: number } | undefined;
    return row?.n ?? 0;
  }

  setSeen(head: RunHead, topic: string, n: number): void {
    this.#sql.setSeen.run(head.key, toColumn(topic), n);
  }

  forgetSeen(head: RunHead): void {
    this.#sql.forgetSeen.run(head.key);
  }

  /** A limit below 0 is none. */
  #waiters(topic: string, limit: number): RunHead[] {
    return (this.#sql.waiters.all(toColumn(topic), limit) as HeadRow[]).map(headOf);
  }
}
