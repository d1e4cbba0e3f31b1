import type { NewRun, Payload, Run, Status, Wait } from "../../model/run.ts";
import { distinctWorkflows, type WorkflowRef } from "../../model/workflow-ref.ts";
import type {
  AwaitedPosts,
  ClaimableQuery,
  EndedQuery,
  HeadDraft,
  OwnedRun,
  RunHead,
  RunTable,
} from "../../rules/tables.ts";
import type { DueRun } from "../store.ts";
import { fromColumn, toColumn, toColumnOrNull } from "../text-column.ts";
import { BufferedUpdates } from "./bulk-insert.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./driver.ts";
import { type HeadCache, knownOf } from "./head-cache.ts";
import { HEAD_COLUMN, type HeadRow, headOf, RUN_COLUMNS, type RunRow, runOfRow, waitOf } from "./run-columns.ts";

const NO_ENTRIES: readonly number[] = [];

/** Longer inputs are stored in `pawl_inputs`. */
const INPUT_INLINE_MAX = 1_000;

/** Statuses of owned runs. The indexes of owned runs contain the status. */
const OWNED: readonly Status[] = ["running", "suspended", "compensating"];

export class SqliteRunTable implements RunTable {
  readonly #statements: Statements<typeof RUN_SQL>;
  readonly #cache: HeadCache;
  readonly #ready: BufferedUpdates;
  readonly #ended: BufferedUpdates;

  constructor(database: SqliteDatabase, cache: HeadCache) {
    this.#statements = prepareAll(database, RUN_SQL);
    this.#cache = cache;
    this.#ready = new BufferedUpdates(database, READY_RUNS);
    this.#ended = new BufferedUpdates(database, END_RUNS);
  }

  /** Writes the buffered updates. A run is made ready before it ends, never after. */
  flush(): void {
    this.#ready.flush();
    this.#ended.flush();
  }

  /** Discards the buffered updates, because their transaction is rolled back. */
  drop(): void {
    this.#ready.drop();
    this.#ended.drop();
  }

  /** Flushes first, so that every statement sees the updates before it. */
  get #sql(): Statements<typeof RUN_SQL> {
    this.flush();
    return this.#statements;
  }

  head(runId: string): RunHead | null {
    const cached = this.#cache.get(runId);
    if (cached !== undefined) return cached.head;
    const row = this.#sql.head.get(toColumn(runId)) as HeadRow | undefined;
    if (row === undefined) return null;
    const head = headOf(row);
    this.#cache.put(knownOf(head));
    return head;
  }

  get(runId: string): Run | null {
    const row = this.#sql.get.get(toColumn(runId)) as RunRow | undefined;
    return row === undefined ? null : runOfRow(row);
  }

  wait(head: RunHead): AwaitedPosts | null {
    const cached = this.#cache.get(head.id);
    if (cached?.wait !== undefined) return cached.wait;
    const row = this.#sql.wait.get(head.key) as { readonly wait: string | null } | undefined;
    return waitOf(row?.wait ?? null);
  }

  insert(run: NewRun, head: HeadDraft): boolean {
    const { parent, tags, limits, input } = run;
    const { changes, lastInsertRowid } = this.#sql.insert.run(
      toColumn(run.id),
      head.status,
      toColumnOrNull(head.owner),
      head.wakeAt,
      head.createdAt,
      head.startedAt,
      toColumn(run.workflow),
      run.version,
      toColumn(run.startId),
      parent === null ? null : toColumn(parent.runId),
      parent === null ? null : toColumn(parent.location),
      parent === null ? null : parent.onClose,
      tags.length === 0 ? null : JSON.stringify(tags),
      limits === undefined ? null : JSON.stringify(limits),
      isLong(input) ? null : toColumnOrNull(input),
    );
    if (Number(changes) === 0) return false;
    head.key = Number(lastInsertRowid);
    if (isLong(input)) this.#sql.insertInput.run(head.key, toColumn(input));
    this.#insertTags(tags, head);
    this.#cache.put({ head, wait: null, newest: head.baseSeq, inbox: NO_ENTRIES, childless: true });
    const above = parent === null ? undefined : this.#cache.get(parent.runId);
    if (above !== undefined) above.childless = false;
    return true;
  }

  saveOwner(head: RunHead): void {
    const { status, epoch, turn, owner, wakeAt, claims, claimSeq, startedAt, key } = head;
    this.#sql.saveOwner.run(status, epoch, turn, toColumnOrNull(owner), wakeAt, claims, claimSeq, startedAt, key);
    this.#remember(head, undefined);
  }

  saveInbox(head: RunHead): void {
    this.#sql.saveInbox.run(head.inboxLast, head.key);
    this.#remember(head, undefined);
  }

  saveReady(head: RunHead): void {
    const { key, inboxLast, wakeAt, topics } = head;
    const before = this.#cache.get(head.id)?.head;
    // The cached row proves that only these columns change.
    if (before?.inboxLast === inboxLast - 1 && before.topics === topics) this.#ready.add(key, [wakeAt]);
    else this.#sql.saveReady.run(inboxLast, wakeAt, topics, key);
    this.#remember(head, undefined);
  }

  saveUndo(head: RunHead): void {
    this.#sql.saveUndo.run(head.undo, head.key);
    this.#remember(head, undefined);
  }

  saveWait(head: RunHead, wait: Wait | null): void {
    const { status, turn, wakeAt, inboxLast, topics, claims, key } = head;
    const text = wait === null ? null : JSON.stringify(wait);
    this.#sql.saveWait.run(status, turn, wakeAt, inboxLast, topics, claims, text, key);
    if (this.#cache.get(head.id)?.head.owner !== head.owner) this.#sql.saveOwnerId.run(toColumnOrNull(head.owner), key);
    this.#saveControl(head);
    this.#remember(head, wait === null ? null : { messages: wait.messages, children: wait.children });
  }

  saveOutcome(head: RunHead, outcome: Payload): void {
    const { status, turn, owner, wakeAt, topics, claims, endedAt, key } = head;
    const text = toColumnOrNull(outcome);
    if (this.#endsUnchanged(head)) {
      this.#ready.flush();
      this.#ended.add(key, [status, turn, endedAt, text]);
    } else {
      this.#sql.saveOutcome.run(status, turn, toColumnOrNull(owner), wakeAt, topics, claims, endedAt, text, key);
      this.#saveControl(head);
    }
    this.#remember(head, null);
  }

  saveVersion(head: RunHead): void {
    this.#sql.saveVersion.run(head.version, head.key);
    this.#remember(head, undefined);
  }

  saveProgram(head: RunHead, { input }: Pick<Run, "input">): void {
    this.saveWait(head, null);
    this.#sql.removeInput.run(head.key);
    if (isLong(input)) this.#sql.insertInput.run(head.key, toColumn(input));
    this.#sql.saveProgram.run(
      toColumn(head.workflow),
      head.version,
      isLong(input) ? null : toColumnOrNull(input),
      head.baseSeq,
      head.generation,
      head.startedAt,
      head.key,
    );
  }

  saveStart(head: RunHead, { tags, limits, input }: NewRun): void {
    const before = this.get(head.id);
    if (before !== null) this.#removeTags(before, head.key);
    this.#insertTags(tags, head);
    this.saveProgram(head, { input });
    this.#sql.saveStart.run(
      toColumn(head.startId),
      head.createdAt,
      tags.length === 0 ? null : JSON.stringify(tags),
      limits === undefined ? null : JSON.stringify(limits),
      head.key,
    );
  }

  #insertTags(tags: NewRun["tags"], { key, createdAt }: RunHead): void {
    for (const tag of new Set(tags)) this.#sql.insertTag.run(toColumn(tag), createdAt, key);
  }

  #removeTags({ tags, createdAt }: Run, key: number): void {
    for (const tag of tags) this.#sql.removeTag.run(toColumn(tag), createdAt, key);
  }

  openChildren(runId: string): readonly RunHead[] {
    if (this.#cache.get(runId)?.childless === true) return [];
    return (this.#sql.openChildren.all(toColumn(runId)) as HeadRow[]).map(headOf);
  }

  /** Reads one range of the index per version of a workflow, so runs that this worker cannot execute are not scanned. */
  claimable({ workflows, now, limit, newestFirst }: ClaimableQuery): readonly RunHead[] {
    const statement = newestFirst ? this.#sql.claimableNewest : this.#sql.claimable;
    const found = distinctWorkflows(workflows).flatMap(({ name, version }) =>
      (statement.all(toColumn(name), version, now, limit) as HeadRow[]).map(headOf),
    );
    const order = newestFirst ? (left: RunHead, right: RunHead) => longestDueFirst(right, left) : longestDueFirst;
    return found.sort(order).slice(0, limit);
  }

  ownedBy(worker: string, limit: number): readonly RunHead[] {
    return (this.#sql.ownedBy.all(toColumn(worker), limit) as HeadRow[]).map(headOf);
  }

  due(worker: string, now: number, limit: number): readonly DueRun[] {
    const owner = toColumn(worker);
    const rows = OWNED.flatMap((status) => this.#sql.due.all(owner, status, now, limit) as DueRow[]);
    return rows
      .sort(longestDueFirst)
      .slice(0, limit)
      .map(({ id, inboxLast }) => ({ id: fromColumn(id), inboxLast }));
  }

  ownedRunning(worker: string): readonly OwnedRun[] {
    const rows = this.#sql.ownedRunning.all(toColumn(worker)) as { readonly id: string; readonly epoch: number }[];
    return rows.map(({ id, epoch }) => ({ id: fromColumn(id), epoch }));
  }

  /** Makes one index lookup per status and per workflow version, however many runs there are. */
  nextDueAt(worker: string, workflows: readonly WorkflowRef[]): number | null {
    const owner = toColumn(worker);
    const rows = OWNED.map((status) => this.#sql.nextOwned.get(owner, status) as NextRow);
    const free = distinctWorkflows(workflows).map(
      ({ name, version }) => this.#sql.nextFree.get(toColumn(name), version) as NextRow,
    );
    return [...rows, ...free].reduce(earliest, null);
  }

  ended({ id, before, statuses, limit }: EndedQuery): readonly RunHead[] {
    const heads: RunHead[] = [];
    for (const status of statuses) {
      const left = limit - heads.length;
      const rows = (
        id === undefined
          ? this.#sql.ended.all(status, before, before, left)
          : this.#sql.endedOne.all(toColumn(id), status, before, before, left)
      ) as HeadRow[];
      heads.push(...rows.map(headOf));
    }
    return heads;
  }

  remove(head: RunHead): void {
    const run = this.get(head.id);
    if (run !== null) this.#removeTags(run, head.key);
    this.#sql.removeInput.run(head.key);
    this.#sql.remove.run(head.key);
    this.#cache.delete(head.id);
  }

  /** Whether the run's end changes only the columns that every end changes. */
  #endsUnchanged({ id, owner, wakeAt, topics, endedAt, claims, epoch, controlId }: RunHead): boolean {
    if (endedAt === null || owner !== null || wakeAt !== null || topics !== 0) return false;
    const before = this.#cache.get(id)?.head;
    return before?.claims === claims && before.epoch === epoch && before.controlId === controlId;
  }

  /** Saves the columns that change only when a run gets another owner or is controlled. */
  #saveControl({ id, epoch, controlId, key }: RunHead): void {
    const before = this.#cache.get(id)?.head;
    if (before?.epoch === epoch && before.controlId === controlId) return;
    this.#sql.saveControl.run(epoch, toColumnOrNull(controlId), key);
  }

  #remember(head: RunHead, wait: AwaitedPosts | null | undefined): void {
    const cached = this.#cache.get(head.id);
    if (cached === undefined) {
      this.#cache.put({ ...knownOf(head), wait });
      return;
    }
    cached.head = head;
    if (wait !== undefined) cached.wait = wait;
  }
}

function isLong(input: Payload): input is string {
  return input !== null && input.length > INPUT_INLINE_MAX;
}

interface DueRow {
  readonly key: number;
  readonly id: string;
  readonly wakeAt: number | null;
  readonly inboxLast: number;
}

interface NextRow {
  readonly at: number | null;
}

function longestDueFirst(left: Omit<DueRow, "id" | "inboxLast">, right: Omit<DueRow, "id" | "inboxLast">): number {
  return Number(left.wakeAt) - Number(right.wakeAt) || left.key - right.key;
}

function earliest(found: number | null, { at }: NextRow): number | null {
  return found === null || (at !== null && at < found) ? at : found;
}

/** Ended runs without a child and without an open ancestor, oldest first. */
const REMOVABLE = `r.status = ? AND r.created_at < ? AND r.ended_at < ?
      AND NOT EXISTS (SELECT 1 FROM pawl_runs c WHERE c.parent_run = r.id)
      AND (r.parent_run IS NULL OR NOT EXISTS (
        WITH RECURSIVE above (id, ended_at, parent_run, created_at) AS (
          SELECT p.id, p.ended_at, p.parent_run, p.created_at FROM pawl_runs p
            WHERE p.id = r.parent_run AND r.created_at >= coalesce(p.started_at, 0)
          UNION ALL
          SELECT p.id, p.ended_at, p.parent_run, p.created_at FROM above a JOIN pawl_runs p ON p.id = a.parent_run
            WHERE a.ended_at IS NOT NULL AND a.created_at >= coalesce(p.started_at, 0))
        SELECT 1 FROM above WHERE ended_at IS NULL))
    ORDER BY r.created_at, r.key LIMIT ?`;

/** Every statement on the table of runs. An update names only the columns that change, because SQLite rewrites each index of a named column. */
export const RUN_SQL = {
  head: `SELECT ${HEAD_COLUMN} FROM pawl_runs r WHERE r.id = ?`,
  get: `SELECT ${RUN_COLUMNS} FROM pawl_runs r WHERE r.id = ?`,
  wait: "SELECT wait FROM pawl_runs WHERE key = ?",
  insert: `INSERT INTO pawl_runs (id, status, owner, wake_at, created_at, started_at, workflow, version, start_id,
      parent_run, parent_location, parent_on_close, tags, limits, input,
      undo, epoch, turn, inbox_last, topics, base_seq, generation, claims, claim_seq)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'none', 1, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING`,
  insertInput: "INSERT INTO pawl_inputs (run, input) VALUES (?, ?)",
  removeInput: "DELETE FROM pawl_inputs WHERE run = ?",
  insertTag: "INSERT INTO pawl_tags (tag, created_at, run) VALUES (?, ?, ?)",
  removeTag: "DELETE FROM pawl_tags WHERE tag = ? AND created_at = ? AND run = ?",
  saveOwner: `UPDATE pawl_runs SET status = ?, epoch = ?, turn = ?, owner = ?, wake_at = ?, claims = ?, claim_seq = ?,
    started_at = ? WHERE key = ?`,
  saveControl: "UPDATE pawl_runs SET epoch = ?, control_id = ? WHERE key = ?",
  saveOwnerId: "UPDATE pawl_runs SET owner = ? WHERE key = ?",
  saveInbox: "UPDATE pawl_runs SET inbox_last = ? WHERE key = ?",
  saveReady: "UPDATE pawl_runs SET inbox_last = ?, wake_at = ?, topics = ? WHERE key = ?",
  saveUndo: "UPDATE pawl_runs SET undo = ? WHERE key = ?",
  saveWait: `UPDATE pawl_runs SET status = ?, turn = ?, wake_at = ?, inbox_last = ?, topics = ?, claims = ?, wait = ?
    WHERE key = ?`,
  saveOutcome: `UPDATE pawl_runs SET status = ?, turn = ?, owner = ?, wake_at = ?, topics = ?, claims = ?, ended_at = ?, wait = NULL,
    outcome = ? WHERE key = ?`,
  saveProgram: `UPDATE pawl_runs SET workflow = ?, version = ?, input = ?, base_seq = ?, generation = ?, started_at = ?
    WHERE key = ?`,
  saveStart: "UPDATE pawl_runs SET start_id = ?, created_at = ?, tags = ?, limits = ? WHERE key = ?",
  saveVersion: "UPDATE pawl_runs SET version = ? WHERE key = ?",
  openChildren: `SELECT ${HEAD_COLUMN} FROM pawl_runs r
    WHERE r.parent_run = ? AND r.parent_on_close = 'cancel' AND r.ended_at IS NULL ORDER BY r.key`,
  claimable: `SELECT ${HEAD_COLUMN} FROM pawl_runs r
    WHERE r.workflow = ? AND r.version = ? AND r.owner IS NULL AND r.wake_at <= ? ORDER BY r.wake_at, r.key LIMIT ?`,
  claimableNewest: `SELECT ${HEAD_COLUMN} FROM pawl_runs r
    WHERE r.workflow = ? AND r.version = ? AND r.owner IS NULL AND r.wake_at <= ? ORDER BY r.wake_at DESC, r.key DESC LIMIT ?`,
  ownedBy: `SELECT ${HEAD_COLUMN} FROM pawl_runs r WHERE r.owner = ? LIMIT ?`,
  due: `SELECT key, id, wake_at AS wakeAt, inbox_last AS inboxLast FROM pawl_runs INDEXED BY pawl_runs_due
    WHERE owner = ? AND status = ? AND wake_at <= ? ORDER BY wake_at, key LIMIT ?`,
  ownedRunning: `SELECT id, epoch FROM pawl_runs WHERE owner = ? AND (status = 'running' OR status = 'compensating' AND wait IS NULL)
    ORDER BY key`,
  nextOwned: `SELECT min(wake_at) AS at FROM pawl_runs INDEXED BY pawl_runs_due
    WHERE owner = ? AND status = ? AND wake_at IS NOT NULL`,
  nextFree: `SELECT min(wake_at) AS at FROM pawl_runs
    WHERE workflow = ? AND version = ? AND owner IS NULL AND wake_at IS NOT NULL`,
  ended: `SELECT ${HEAD_COLUMN} FROM pawl_runs r WHERE ${REMOVABLE}`,
  endedOne: `SELECT ${HEAD_COLUMN} FROM pawl_runs r WHERE r.id = ? AND ${REMOVABLE}`,
  remove: "DELETE FROM pawl_runs WHERE key = ?",
} as const;

/** Updates of many runs, without the WHERE clause. A post makes a waiting run ready: one more inbox entry, and it is due. */
export const READY_RUNS = "UPDATE pawl_runs SET inbox_last = inbox_last + 1, wake_at = ?";
export const END_RUNS = `UPDATE pawl_runs SET status = ?, turn = ?, owner = NULL, wake_at = NULL, topics = 0, ended_at = ?,
  wait = NULL, outcome = ?`;
