import { HEAD_COLUMN, RUN_COLUMNS } from "./run-columns.ts";

/** Every statement on the table of runs. An update names only what it changes: each index it names is written anew. */
export const RUN_SQL = {
  head: `SELECT ${HEAD_COLUMN} FROM pawl_runs r WHERE r.id = ?`,
  get: `SELECT ${RUN_COLUMNS} FROM pawl_runs r WHERE r.id = ?`,
  wait: "SELECT wait FROM pawl_runs WHERE key = ?",
  insert: `INSERT INTO pawl_runs (id, status, owner, wake_at, created_at, started_at, workflow, version, start_id,
      parent_run, parent_location, parent_on_close, tags, input,
      epoch, turn, inbox_last, topics, base_seq, generation, claims, claim_seq)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING`,
  insertInput: "INSERT INTO pawl_inputs (run, input) VALUES (?, ?)",
  removeInput: "DELETE FROM pawl_inputs WHERE run = ?",
  insertTag: "INSERT INTO pawl_tags (tag, created_at, run) VALUES (?, ?, ?)",
  removeTag: "DELETE FROM pawl_tags WHERE tag = ? AND created_at = ? AND run = ?",
  saveOwner: `UPDATE pawl_runs SET status = ?, epoch = ?, turn = ?, owner = ?, wake_at = ?, claims = ?, claim_seq = ?,
    started_at = ? WHERE key = ?`,
  saveControl: "UPDATE pawl_runs SET epoch = ?, control_id = ? WHERE key = ?",
  giveAway: "UPDATE pawl_runs SET owner = ? WHERE key = ?",
  saveInbox: "UPDATE pawl_runs SET inbox_last = ? WHERE key = ?",
  saveReady: "UPDATE pawl_runs SET inbox_last = ?, wake_at = ?, topics = ? WHERE key = ?",
  saveUndo: "UPDATE pawl_runs SET undo = ? WHERE key = ?",
  saveWait: `UPDATE pawl_runs SET status = ?, turn = ?, wake_at = ?, inbox_last = ?, topics = ?, claims = ?, wait = ?
    WHERE key = ?`,
  saveOutcome: `UPDATE pawl_runs SET status = ?, turn = ?, owner = ?, wake_at = ?, topics = ?, claims = ?, ended_at = ?, wait = NULL,
    outcome = ? WHERE key = ?`,
  saveProgram: `UPDATE pawl_runs SET workflow = ?, version = ?, input = ?, base_seq = ?, generation = ?, started_at = ?
    WHERE key = ?`,
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
  held: `SELECT id, epoch FROM pawl_runs WHERE owner = ? AND (status = 'running' OR status = 'compensating' AND wait IS NULL)
    ORDER BY key`,
  nextOwned: `SELECT min(wake_at) AS at FROM pawl_runs INDEXED BY pawl_runs_due
    WHERE owner = ? AND status = ? AND wake_at IS NOT NULL`,
  nextFree: `SELECT min(wake_at) AS at FROM pawl_runs
    WHERE workflow = ? AND version = ? AND owner IS NULL AND wake_at IS NOT NULL`,
  ended: `SELECT ${HEAD_COLUMN} FROM pawl_runs r
    WHERE r.status = ? AND r.created_at < ? AND r.ended_at < ?
      AND NOT EXISTS (SELECT 1 FROM pawl_runs c WHERE c.parent_run = r.id)
      AND (r.parent_run IS NULL OR NOT EXISTS (
        WITH RECURSIVE above (id, ended_at, parent_run, created_at) AS (
          SELECT p.id, p.ended_at, p.parent_run, p.created_at FROM pawl_runs p
            WHERE p.id = r.parent_run AND r.created_at >= coalesce(p.started_at, 0)
          UNION ALL
          SELECT p.id, p.ended_at, p.parent_run, p.created_at FROM above a JOIN pawl_runs p ON p.id = a.parent_run
            WHERE a.ended_at IS NOT NULL AND a.created_at >= coalesce(p.started_at, 0))
        SELECT 1 FROM above WHERE ended_at IS NULL))
    ORDER BY r.created_at, r.key LIMIT ?`,
  remove: "DELETE FROM pawl_runs WHERE key = ?",
} as const;

/** Updates of many rows, up to which they are. A post that is waited for makes a run ready: one entry more, and no topic. */
export const READY_RUNS = "UPDATE pawl_runs SET inbox_last = inbox_last + 1, wake_at = ?";
export const END_RUNS = `UPDATE pawl_runs SET status = ?, turn = ?, owner = NULL, wake_at = NULL, topics = 0, ended_at = ?,
  wait = NULL, outcome = ?`;
