import type { NewRun, Payload, Run, Status, Wait } from "../../model/run.ts";
import type { EndedQuery, RunHead, RunTable } from "../tables.ts";
import { prepareAll, type SqliteDatabase, type Statements } from "./database.ts";
import { HEAD_COLUMNS, headOf, RUN_COLUMNS, type RunHeadRow, type RunRow, runOf, waitOf } from "./run-columns.ts";
import { fromColumn, toColumn, toColumnOrNull } from "./text.ts";

/** Longer inputs lie apart from the row. */
const INPUT_INLINE_MAX = 1_000;

/** What an owned run can be: the index of owned runs has them by status. */
const OWNED: readonly Status[] = ["running", "suspended", "compensating"];

const SQL = {
  head: `SELECT ${HEAD_COLUMNS} FROM pawl_runs r WHERE r.id = ?`,
  get: `SELECT ${RUN_COLUMNS} FROM pawl_runs r WHERE r.id = ?`,
  wait: "SELECT wait FROM pawl_runs WHERE key = ?",
  insert: `INSERT INTO pawl_runs (id, status, epoch, turn, owner, wake_at, created_at, started_at, workflow, version,
      start_id, parent_run, parent_location, parent_on_close, tags, input, inbox_last, topics, base_seq, generation, claims,
      claim_seq)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0)`,
  insertInput: "INSERT INTO pawl_inputs (run, input) VALUES (?, ?)",
  removeInput: "DELETE FROM pawl_inputs WHERE run = ?",
  insertTag: "INSERT INTO pawl_tags (tag, created_at, run) VALUES (?, ?, ?)",
  removeTag: "DELETE FROM pawl_tags WHERE tag = ? AND created_at = ? AND run = ?",
  saveOwner: `UPDATE pawl_runs SET status = ?, epoch = ?, turn = ?, owner = ?, wake_at = ?, claims = ?, claim_seq = ?,
    started_at = ? WHERE key = ?`,
  saveInbox: "UPDATE pawl_runs SET inbox_last = ? WHERE key = ?",
  saveReady: "UPDATE pawl_runs SET inbox_last = ?, wake_at = ?, topics = ? WHERE key = ?",
  saveWait: `UPDATE pawl_runs SET status = ?, epoch = ?, turn = ?, owner = ?, wake_at = ?, inbox_last = ?, topics = ?,
    claims = ?, control_id = ?, wait = ? WHERE key = ?`,
  saveOutcome: `UPDATE pawl_runs SET status = ?, epoch = ?, turn = ?, owner = ?, wake_at = ?, topics = ?, claims = ?,
    ended_at = ?, control_id = ?, wait = NULL, outcome = ? WHERE key = ?`,
  saveProgram: `UPDATE pawl_runs SET workflow = ?, version = ?, input = ?, base_seq = ?, generation = ?, started_at = ?
    WHERE key = ?`,
  openChildren: `SELECT ${HEAD_COLUMNS} FROM pawl_runs r
    WHERE r.parent_run = ? AND r.parent_on_close = 'cancel' AND r.ended_at IS NULL ORDER BY r.key`,
  claimable: `SELECT ${HEAD_COLUMNS} FROM pawl_runs r
    WHERE r.workflow = ? AND r.owner IS NULL AND r.wake_at <= ? ORDER BY r.wake_at, r.key LIMIT ?`,
  ownedBy: `SELECT ${HEAD_COLUMNS} FROM pawl_runs r WHERE r.owner = ? LIMIT ?`,
  due: `SELECT key, id, wake_at FROM pawl_runs WHERE owner = ? AND status = ? AND wake_at <= ?
    ORDER BY wake_at, key LIMIT ?`,
  held: "SELECT id, epoch FROM pawl_runs WHERE owner = ? AND status = 'running' ORDER BY key",
  nextOwned: "SELECT min(wake_at) AS at FROM pawl_runs WHERE owner = ? AND status = ?",
  nextFree: `WITH RECURSIVE free (workflow) AS (
      SELECT min(workflow) FROM pawl_runs WHERE owner IS NULL AND wake_at IS NOT NULL
      UNION ALL
      SELECT (SELECT min(workflow) FROM pawl_runs WHERE owner IS NULL AND wake_at IS NOT NULL AND workflow > free.workflow)
      FROM free WHERE free.workflow IS NOT NULL)
    SELECT min((SELECT min(wake_at) FROM pawl_runs
      WHERE workflow = free.workflow AND owner IS NULL AND wake_at IS NOT NULL)) AS at
    FROM free WHERE free.workflow IS NOT NULL`,
  ended: `SELECT ${HEAD_COLUMNS} FROM pawl_runs r
    WHERE r.status = ? AND r.created_at < ? AND r.ended_at < ?
      AND NOT EXISTS (SELECT 1 FROM pawl_runs p WHERE p.id = r.parent_run AND p.ended_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM pawl_runs c WHERE c.parent_run = r.id)
    ORDER BY r.created_at, r.key LIMIT ?`,
  remove: "DELETE FROM pawl_runs WHERE key = ?",
} as const;

export class SqliteRunTable implements RunTable {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  head(runId: string): RunHead | null {
    const row = this.#sql.head.get(toColumn(runId)) as RunHeadRow | undefined;
    return row === undefined ? null : headOf(row);
  }

  get(runId: string): Run | null {
    const row = this.#sql.get.get(toColumn(runId)) as RunRow | undefined;
    return row === undefined ? null : runOf(row);
  }

  wait(head: RunHead): Wait | null {
    const row = this.#sql.wait.get(head.key) as { readonly wait: string | null } | undefined;
    return waitOf(row?.wait ?? null);
  }

  insert(run: NewRun, head: Omit<RunHead, "key">): void {
    const { parent, tags, input } = run;
    const { lastInsertRowid } = this.#sql.insert.run(
      toColumn(run.id),
      head.status,
      head.epoch,
      head.turn,
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
      isLong(input) ? null : toColumnOrNull(input),
    );
    const key = Number(lastInsertRowid);
    if (isLong(input)) this.#sql.insertInput.run(key, toColumn(input));
    for (const tag of new Set(tags)) this.#sql.insertTag.run(toColumn(tag), head.createdAt, key);
  }

  saveOwner(head: RunHead): void {
    const { status, epoch, turn, owner, wakeAt, claims, claimSeq, startedAt, key } = head;
    this.#sql.saveOwner.run(status, epoch, turn, toColumnOrNull(owner), wakeAt, claims, claimSeq, startedAt, key);
  }

  saveInbox(head: RunHead): void {
    this.#sql.saveInbox.run(head.inboxLast, head.key);
  }

  saveReady(head: RunHead): void {
    this.#sql.saveReady.run(head.inboxLast, head.wakeAt, head.topics, head.key);
  }

  saveWait(head: RunHead, wait: Wait | null): void {
    const { status, epoch, turn, owner, wakeAt, inboxLast, topics, claims, controlId, key } = head;
    this.#sql.saveWait.run(
      status,
      epoch,
      turn,
      toColumnOrNull(owner),
      wakeAt,
      inboxLast,
      topics,
      claims,
      toColumnOrNull(controlId),
      wait === null ? null : JSON.stringify(wait),
      key,
    );
  }

  saveOutcome(head: RunHead, outcome: Payload): void {
    const { status, epoch, turn, owner, wakeAt, topics, claims, endedAt, controlId, key } = head;
    this.#sql.saveOutcome.run(
      status,
      epoch,
      turn,
      toColumnOrNull(owner),
      wakeAt,
      topics,
      claims,
      endedAt,
      toColumnOrNull(controlId),
      toColumnOrNull(outcome),
      key,
    );
  }

  saveProgram(head: RunHead, { workflow, version, input }: Pick<Run, "workflow" | "version" | "input">): void {
    this.saveWait(head, null);
    this.#sql.removeInput.run(head.key);
    if (isLong(input)) this.#sql.insertInput.run(head.key, toColumn(input));
    this.#sql.saveProgram.run(
      toColumn(workflow),
      version,
      isLong(input) ? null : toColumnOrNull(input),
      head.baseSeq,
      head.generation,
      head.startedAt,
      head.key,
    );
  }

  openChildren(runId: string): readonly RunHead[] {
    return (this.#sql.openChildren.all(toColumn(runId)) as RunHeadRow[]).map(headOf);
  }

  /** Each workflow has its own range of the index, so runs that this worker can't take are not looked at. */
  claimable(workflows: readonly string[], now: number, limit: number): readonly RunHead[] {
    const found = [...new Set(workflows)].flatMap(
      (workflow) => this.#sql.claimable.all(toColumn(workflow), now, limit) as RunHeadRow[],
    );
    return found.sort(longestDueFirst).slice(0, limit).map(headOf);
  }

  ownedBy(worker: string, limit: number): readonly RunHead[] {
    return (this.#sql.ownedBy.all(toColumn(worker), limit) as RunHeadRow[]).map(headOf);
  }

  due(worker: string, now: number, limit: number): readonly string[] {
    const owner = toColumn(worker);
    const rows = OWNED.flatMap((status) => this.#sql.due.all(owner, status, now, limit) as DueRow[]);
    return rows
      .sort(longestDueFirst)
      .slice(0, limit)
      .map(({ id }) => fromColumn(id));
  }

  held(worker: string): readonly { readonly id: string; readonly epoch: number }[] {
    const rows = this.#sql.held.all(toColumn(worker)) as { readonly id: string; readonly epoch: number }[];
    return rows.map(({ id, epoch }) => ({ id: fromColumn(id), epoch }));
  }

  /** Goes from status to status and from workflow to workflow, not from run to run. */
  nextDueAt(worker: string): number | null {
    const owner = toColumn(worker);
    const rows = OWNED.map((status) => this.#sql.nextOwned.get(owner, status) as NextRow);
    return [...rows, this.#sql.nextFree.get() as NextRow].reduce(earliest, null);
  }

  ended({ before, statuses, limit }: EndedQuery): readonly RunHead[] {
    const heads: RunHead[] = [];
    for (const status of statuses) {
      const rows = this.#sql.ended.all(status, before, before, limit - heads.length) as RunHeadRow[];
      heads.push(...rows.map(headOf));
    }
    return heads;
  }

  remove(head: RunHead): void {
    const row = this.#sql.get.get(toColumn(head.id)) as RunRow | undefined;
    if (row !== undefined) {
      for (const tag of runOf(row).tags) this.#sql.removeTag.run(toColumn(tag), head.createdAt, head.key);
    }
    this.#sql.removeInput.run(head.key);
    this.#sql.remove.run(head.key);
  }
}

function isLong(input: Payload): input is string {
  return input !== null && input.length > INPUT_INLINE_MAX;
}

type DueRow = Pick<RunHeadRow, "key" | "id" | "wake_at">;

interface NextRow {
  readonly at: number | null;
}

function longestDueFirst(left: Omit<DueRow, "id">, right: Omit<DueRow, "id">): number {
  return Number(left.wake_at) - Number(right.wake_at) || left.key - right.key;
}

function earliest(found: number | null, { at }: NextRow): number | null {
  return found === null || (at !== null && at < found) ? at : found;
}
