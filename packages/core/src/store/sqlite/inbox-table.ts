import { type InboxEntry, LEFTOVER_POLICY } from "../../model/inbox.ts";
import type { InboxTable, RunHead } from "../../rules/tables.ts";
import { fromColumn, fromColumnOrNull, toColumn, toColumnOrNull } from "../text-column.ts";
import { BufferedRows, insertText } from "./bulk-insert.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./driver.ts";
import type { HeadCache } from "./head-cache.ts";

const SQL = {
  know: "INSERT INTO pawl_inbox_ids (run, kind, id, n, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  knowAgain: `INSERT INTO pawl_inbox_ids (run, kind, id, n, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (run, kind, id) DO UPDATE SET n = excluded.n, at = excluded.at
    WHERE NOT EXISTS (SELECT 1 FROM pawl_inbox e WHERE e.run = pawl_inbox_ids.run AND e.n = pawl_inbox_ids.n)`,
  knows: "SELECT 1 FROM pawl_inbox_ids WHERE run = ? AND kind = ? AND id = ?",
  isFirst: "SELECT 1 FROM pawl_inbox WHERE run = ? AND n = 1 AND kind = ? AND id = ?",
  takeAll: "DELETE FROM pawl_inbox WHERE run = ?",
  open: "SELECT n, kind, id, name, status, at, policy, value FROM pawl_inbox WHERE run = ? AND n > ? ORDER BY n",
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

const ENTRY = "pawl_inbox (run, n, kind, id, name, status, at, policy, value)";
const ENTRY_ROW = "(?, ?, ?, ?, ?, ?, ?, ?, ?)";
/** The row of an ordinary message. It binds fewer values than a row of any kind. */
const MESSAGE_ROW = `(?, ?, 'message', ?, ?, NULL, ?, '${LEFTOVER_POLICY}', ?)`;

/** Inboxes with more entries are not cached. */
const REMEMBERED_MAX = 32;

/**
 * Inbox entries, and the ids of all entries that a run ever had. The id of a run's first entry is recorded only when the entry is taken: the
 * entry itself proves it until then, and the post that wakes a waiting run writes one row less. Rows are buffered until a query must
 * see them.
 */
export class SqliteInboxTable implements InboxTable {
  readonly #sql: Statements<typeof SQL>;
  readonly #cache: HeadCache;
  /** Runs whose first entry is being taken, so its id must be recorded. */
  readonly #known: BufferedRows;
  readonly #messages: BufferedRows;
  readonly #others: BufferedRows;
  readonly #taken: BufferedRows;

  constructor(database: SqliteDatabase, cache: HeadCache) {
    this.#sql = prepareAll(database, SQL);
    this.#cache = cache;
    this.#known = new BufferedRows(database, 1, knowFirstText);
    this.#messages = new BufferedRows(database, 6, insertText(ENTRY, MESSAGE_ROW));
    this.#others = new BufferedRows(database, 9, insertText(ENTRY, ENTRY_ROW));
    this.#taken = new BufferedRows(database, 2, takeText);
  }

  add(head: RunHead, entry: InboxEntry): boolean {
    // No entry came before the first, so its id is new.
    if (entry.n > 1 && (this.#isFirst(head, entry) || !this.#know(head, entry))) return false;
    return this.#insert(head, entry);
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    if (this.#isFirst(head, entry)) return false;
    this.flush();
    const { changes } = this.#sql.knowAgain.run(...knownRow(head, entry));
    return Number(changes) > 0 && this.#insert(head, entry);
  }

  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean {
    if (this.#isFirst(head, { kind, id })) return true;
    if (!this.#known.isEmpty) this.flush();
    return this.#sql.knows.get(head.key, kind, toColumn(id)) !== undefined;
  }

  take(head: RunHead, n: number): void {
    if (n === 1) this.#known.add([head.key]);
    this.#taken.add([head.key, n]);
    if (this.#taken.isFull) this.flush();
    this.#remember(head, (open) => open.filter((other) => other !== n));
  }

  open(head: Pick<RunHead, "key" | "id">): readonly InboxEntry[] {
    return this.openAfter(head, 0);
  }

  /** Returns the open entries after this number. */
  openAfter(head: Pick<RunHead, "key" | "id">, after: number): readonly InboxEntry[] {
    if (this.#cache.get(head.id)?.inbox?.length === 0) return [];
    this.flush();
    return (this.#sql.open.all(head.key, after) as EntryRow[]).map(entryOf);
  }

  takeAll(head: RunHead): void {
    this.#known.add([head.key]);
    this.flush();
    this.#sql.takeAll.run(head.key);
    this.#remember(head, () => []);
  }

  forgetBefore(before: number, limit: number): number {
    this.flush();
    const received = this.#sql.received.all(before, limit) as KnownRow[];
    for (const { run, kind, id } of received) this.#sql.forget.run(run, kind, id);
    return received.length;
  }

  removeAll(head: RunHead): void {
    this.takeAll(head);
    this.#sql.forgetAll.run(head.key);
  }

  /** Writes the buffered rows. An entry is inserted before its id is recorded, and its id before the entry is deleted. */
  flush(): void {
    this.#messages.flush();
    this.#others.flush();
    this.#known.flush();
    this.#taken.flush();
  }

  /** Discards the buffered rows, because their transaction is rolled back. */
  drop(): void {
    this.#messages.drop();
    this.#others.drop();
    this.#known.drop();
    this.#taken.drop();
  }

  /** Records the id of an entry. False if it was recorded already. */
  #know(head: RunHead, entry: InboxEntry): boolean {
    if (!this.#known.isEmpty) this.flush();
    return Number(this.#sql.know.run(...knownRow(head, entry)).changes) > 0;
  }

  /** Whether this is the run's first entry and has not been taken. */
  #isFirst(head: RunHead, { kind, id }: Pick<InboxEntry, "kind" | "id">): boolean {
    if (this.#cache.get(head.id)?.inbox?.includes(1) === false) return false;
    this.flush();
    return this.#sql.isFirst.get(head.key, kind, toColumn(id)) !== undefined;
  }

  #insert(head: RunHead, { n, kind, id, name, status, at, onTargetTerminated, value }: InboxEntry): true {
    const texts = [toColumn(id), toColumn(name), toColumnOrNull(value)] as const;
    const isPlain = kind === "message" && status === null && onTargetTerminated === LEFTOVER_POLICY;
    const rows = isPlain ? this.#messages : this.#others;
    if (isPlain) rows.add([head.key, n, texts[0], texts[1], at, texts[2]]);
    else rows.add([head.key, n, kind, texts[0], texts[1], status, at, onTargetTerminated, texts[2]]);
    if (rows.isFull) this.flush();
    this.#remember(head, (open) => (open.length < REMEMBERED_MAX ? [...open, n] : null));
    return true;
  }

  #remember({ id }: RunHead, change: (open: readonly number[]) => readonly number[] | null): void {
    const cached = this.#cache.get(id);
    if (cached?.inbox) cached.inbox = change(cached.inbox);
  }
}

function knownRow(
  { key }: RunHead,
  { kind, id, n, at }: InboxEntry,
): readonly [number, string, string, number, number] {
  return [key, kind, toColumn(id), n, at];
}

/** A run may be in two statements of one flush; the second finds its id recorded already. */
function knowFirstText(rows: number): string {
  return `INSERT INTO pawl_inbox_ids (run, kind, id, n, at) SELECT run, kind, id, n, at FROM pawl_inbox
    WHERE n = 1 AND run IN (${Array(rows).fill("?").join(", ")}) ON CONFLICT DO NOTHING`;
}

function takeText(rows: number): string {
  return `DELETE FROM pawl_inbox WHERE ${Array(rows).fill("(run = ? AND n = ?)").join(" OR ")}`;
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
