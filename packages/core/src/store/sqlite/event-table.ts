import type { DeliverableQuery, EventRow, EventTable, RunHead, TopicTable } from "../../rules/tables.ts";
import { fromColumn, fromColumnOrNull, toColumn, toColumnOrNull } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./driver.ts";
import { HEAD_COLUMN, type HeadRow, headOf } from "./run-columns.ts";

const COLUMNS = "n, id, topic, at, expire_at, deliver, consume, pending_max, pending, received, holder, value";

const EVENT_SQL = {
  get: `SELECT ${COLUMNS} FROM pawl_events WHERE id = ?`,
  insert: `INSERT INTO pawl_events (id, topic, at, expire_at, deliver, consume, pending_max, pending, received, holder, value)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  save: "UPDATE pawl_events SET pending = ?, received = ?, holder = ?, value = ? WHERE n = ?",
  remove: "DELETE FROM pawl_events WHERE n = ?",
  deliverable: `SELECT ${COLUMNS} FROM pawl_events WHERE topic = ? AND consume = ? AND pending = 1 AND n > ? AND expire_at > ?
    AND (deliver = 'all' OR at >= ?) ORDER BY n LIMIT 1`,
  oldest: `SELECT ${COLUMNS} FROM pawl_events WHERE n = (SELECT min(n) FROM (
      SELECT min(n) AS n FROM pawl_events WHERE topic = ? AND consume = 'one' AND pending = 1
      UNION ALL SELECT min(n) AS n FROM pawl_events WHERE topic = ? AND consume = 'all' AND pending = 1))`,
  countUp: `INSERT INTO pawl_topics (topic, pending) VALUES (?, 1)
    ON CONFLICT DO UPDATE SET pending = pending + 1 RETURNING pending`,
  countDown: "UPDATE pawl_topics SET pending = pending - 1 WHERE topic = ? RETURNING pending",
  removeCount: "DELETE FROM pawl_topics WHERE topic = ?",
  expired: `SELECT ${COLUMNS} FROM pawl_events WHERE pending = 1 AND expire_at <= ? ORDER BY expire_at, n LIMIT ?`,
  removable: `SELECT e.n FROM pawl_events e WHERE e.pending = 0 AND e.at < ? AND NOT EXISTS (
      SELECT 1 FROM pawl_runs r
        JOIN pawl_inbox_ids k ON k.run = r.key AND k.kind = 'event' AND k.id = 'event:' || e.id
        JOIN pawl_inbox b ON b.run = k.run AND b.n = k.n
      WHERE r.id = e.holder)
    AND NOT EXISTS (
      SELECT 1 FROM pawl_runs r JOIN pawl_inbox b ON b.run = r.key AND b.n = 1
      WHERE r.id = e.holder AND b.kind = 'event' AND b.id = 'event:' || e.id)
    ORDER BY e.at LIMIT ?`,
} as const;

interface EventColumns {
  readonly n: number;
  readonly id: string;
  readonly topic: string;
  readonly at: number;
  readonly expire_at: number;
  readonly deliver: EventRow["deliver"];
  readonly consume: EventRow["consume"];
  readonly pending_max: number;
  readonly pending: number;
  readonly received: number;
  readonly holder: string | null;
  readonly value: string | null;
}

export class SqliteEventTable implements EventTable {
  readonly #sql: Statements<typeof EVENT_SQL>;
  readonly #writeInbox: () => void;

  /** `writeInbox` flushes the buffered inbox rows, because one statement here reads them. */
  constructor(database: SqliteDatabase, writeInbox: () => void) {
    this.#sql = prepareAll(database, EVENT_SQL);
    this.#writeInbox = writeInbox;
  }

  get(id: string): EventRow | null {
    return eventOrNull(this.#sql.get.get(toColumn(id)));
  }

  insert(event: Omit<EventRow, "n">): EventRow {
    const { lastInsertRowid } = this.#sql.insert.run(
      toColumn(event.id),
      toColumn(event.topic),
      event.at,
      event.expireAt,
      event.deliver,
      event.consume,
      event.pendingMax,
      event.pending ? 1 : 0,
      event.received ? 1 : 0,
      toColumnOrNull(event.holder),
      toColumnOrNull(event.value),
    );
    return { ...event, n: Number(lastInsertRowid) };
  }

  save({ n, pending, received, holder, value }: EventRow): void {
    this.#sql.save.run(pending ? 1 : 0, received ? 1 : 0, toColumnOrNull(holder), toColumnOrNull(value), n);
  }

  remove(event: EventRow): void {
    this.#sql.remove.run(event.n);
  }

  oldestDeliverable({ topic, consume, afterN, now, createdAt }: DeliverableQuery): EventRow | null {
    return eventOrNull(this.#sql.deliverable.get(toColumn(topic), consume, afterN, now, createdAt));
  }

  oldestPending(topic: string): EventRow | null {
    const column = toColumn(topic);
    return eventOrNull(this.#sql.oldest.get(column, column));
  }

  countPending(topic: string, change: 1 | -1): number {
    const column = toColumn(topic);
    const statement = change === 1 ? this.#sql.countUp : this.#sql.countDown;
    const row = statement.get(column) as { readonly pending: number } | undefined;
    const pending = row?.pending ?? 0;
    if (pending <= 0) this.#sql.removeCount.run(column);
    return pending;
  }

  expired(now: number, limit: number): readonly EventRow[] {
    return (this.#sql.expired.all(now, limit) as EventColumns[]).map(eventOf);
  }

  removeBefore(before: number, limit: number): number {
    this.#writeInbox();
    const removable = this.#sql.removable.all(before, limit) as { readonly n: number }[];
    for (const { n } of removable) this.#sql.remove.run(n);
    return removable.length;
  }
}

function eventOrNull(row: unknown): EventRow | null {
  return row === undefined ? null : eventOf(row as EventColumns);
}

function eventOf(row: EventColumns): EventRow {
  return {
    n: row.n,
    id: fromColumn(row.id),
    topic: fromColumn(row.topic),
    value: fromColumnOrNull(row.value),
    at: row.at,
    expireAt: row.expire_at,
    deliver: row.deliver,
    consume: row.consume,
    pendingMax: row.pending_max,
    pending: row.pending === 1,
    received: row.received === 1,
    holder: fromColumnOrNull(row.holder),
  };
}

const TOPIC_SQL = {
  subscribed: "SELECT topic FROM pawl_waiters WHERE run = ?",
  subscribe: "INSERT INTO pawl_waiters (topic, run) VALUES (?, ?) ON CONFLICT DO NOTHING",
  leave: "DELETE FROM pawl_waiters WHERE run = ? AND topic = ?",
  unsubscribe: "DELETE FROM pawl_waiters WHERE run = ?",
  waiters: `SELECT ${HEAD_COLUMN} FROM pawl_waiters w JOIN pawl_runs r ON r.key = w.run
    WHERE w.topic = ? ORDER BY w.position LIMIT ?`,
  seen: "SELECT n FROM pawl_topics_seen WHERE run = ? AND topic = ?",
  setSeen: "INSERT INTO pawl_topics_seen (run, topic, n) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = excluded.n",
  forgetSeen: "DELETE FROM pawl_topics_seen WHERE run = ?",
} as const;

export class SqliteTopicTable implements TopicTable {
  readonly #sql: Statements<typeof TOPIC_SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, TOPIC_SQL);
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

  /** A negative limit means no limit. */
  #waiters(topic: string, limit: number): RunHead[] {
    return (this.#sql.waiters.all(toColumn(topic), limit) as HeadRow[]).map(headOf);
  }
}
