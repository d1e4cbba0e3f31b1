import type { InboxEntry } from "../../model/inbox.ts";
import type { InboxTable, RunHead } from "../tables.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./database.ts";
import { fromColumn, fromColumnOrNull, toColumn, toColumnOrNull } from "./text.ts";

const SQL = {
  know: "INSERT INTO pawl_inbox_ids (run, kind, id, n, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  knowAgain: `INSERT INTO pawl_inbox_ids (run, kind, id, n, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (run, kind, id) DO UPDATE SET n = excluded.n, at = excluded.at
    WHERE NOT EXISTS (SELECT 1 FROM pawl_inbox e WHERE e.run = pawl_inbox_ids.run AND e.n = pawl_inbox_ids.n)`,
  knows: "SELECT 1 FROM pawl_inbox_ids WHERE run = ? AND kind = ? AND id = ?",
  insert:
    "INSERT INTO pawl_inbox (run, n, kind, id, name, status, at, policy, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  take: "DELETE FROM pawl_inbox WHERE run = ? AND n = ?",
  takeAll: "DELETE FROM pawl_inbox WHERE run = ?",
  open: "SELECT n, kind, id, name, status, at, policy, value FROM pawl_inbox WHERE run = ? ORDER BY n",
  received: `SELECT k.run, k.kind, k.id FROM pawl_inbox_ids k
    WHERE k.at < ? AND NOT EXISTS (SELECT 1 FROM pawl_inbox e WHERE e.run = k.run AND e.n = k.n) ORDER BY k.at LIMIT ?`,
  forget: "DELETE FROM pawl_inbox_ids WHERE run = ? AND kind = ? AND id = ?",
  forgetAll: "DELETE FROM pawl_inbox_ids WHERE run = ?",
} as const;

interface EntryRow {
  readonly n: number;
  readonly kind: InboxEntry["kind"];
  readonly id: string;
  readonly name: string;
  readonly status: string | null;
  readonly at: number;
  readonly policy: InboxEntry["onTargetTerminated"];
  readonly value: string | null;
}

interface KnownRow {
  readonly run: number;
  readonly kind: string;
  readonly id: string;
}

/** What lies in inboxes, and beside it the ids of all that ever did. */
export class SqliteInboxTable implements InboxTable {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  add(head: RunHead, entry: InboxEntry): boolean {
    const { changes } = this.#sql.know.run(head.key, entry.kind, toColumn(entry.id), entry.n, entry.at);
    return Number(changes) > 0 && this.#insert(head, entry);
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    const { changes } = this.#sql.knowAgain.run(head.key, entry.kind, toColumn(entry.id), entry.n, entry.at);
    return Number(changes) > 0 && this.#insert(head, entry);
  }

  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean {
    return this.#sql.knows.get(head.key, kind, toColumn(id)) !== undefined;
  }

  take(head: RunHead, n: number): void {
    this.#sql.take.run(head.key, n);
  }

  open(head: Pick<RunHead, "key">): readonly InboxEntry[] {
    return (this.#sql.open.all(head.key) as EntryRow[]).map(entryOf);
  }

  takeAll(head: RunHead): void {
    this.#sql.takeAll.run(head.key);
  }

  forgetBefore(before: number, limit: number): number {
    const received = this.#sql.received.all(before, limit) as KnownRow[];
    for (const { run, kind, id } of received) this.#sql.forget.run(run, kind, id);
    return received.length;
  }

  removeAll(head: RunHead): void {
    this.#sql.takeAll.run(head.key);
    this.#sql.forgetAll.run(head.key);
  }

  #insert(head: RunHead, { n, kind, id, name, status, at, onTargetTerminated, value }: InboxEntry): true {
    const texts = [toColumn(id), toColumn(name), toColumnOrNull(value)] as const;
    this.#sql.insert.run(head.key, n, kind, texts[0], texts[1], status, at, onTargetTerminated, texts[2]);
    return true;
  }
}

function entryOf(row: EntryRow): InboxEntry {
  return {
    n: row.n,
    kind: row.kind,
    id: fromColumn(row.id),
    name: fromColumn(row.name),
    value: fromColumnOrNull(row.value),
    status: row.status,
    at: row.at,
    onTargetTerminated: row.policy,
  };
}
