import { PawlError } from "../../model/errors.ts";
import type { SqliteDatabase } from "./driver.ts";

/**
 * The tables and their indexes.
 *
 * Journal rows are stored in commit order, with an index by run. If they were clustered by run, a batch would write one page per run, which
 * costs three times as much. The columns of a run start with the ones that decisions need and end with the ones that may be long.
 *
 * `pawl_runs_due` is separate from `pawl_runs_owned`: a post that wakes a suspended run changes only this small index.
 */
const TABLES_SQL = `
CREATE TABLE pawl_runs (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL,
  undo TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  owner TEXT,
  wake_at INTEGER,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  inbox_last INTEGER NOT NULL,
  topics INTEGER NOT NULL,
  base_seq INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  claims INTEGER NOT NULL,
  claim_seq INTEGER NOT NULL,
  workflow TEXT NOT NULL,
  version INTEGER NOT NULL,
  start_id TEXT NOT NULL,
  control_id TEXT,
  parent_run TEXT,
  parent_location TEXT,
  parent_on_close TEXT,
  tags TEXT,
  limits TEXT,
  wait TEXT,
  input TEXT,
  outcome TEXT
);
CREATE INDEX pawl_runs_owned ON pawl_runs (owner, status) WHERE owner IS NOT NULL;
CREATE INDEX pawl_runs_due ON pawl_runs (owner, status, wake_at) WHERE owner IS NOT NULL AND wake_at IS NOT NULL;
CREATE INDEX pawl_runs_claimable ON pawl_runs (workflow, version, wake_at) WHERE owner IS NULL AND wake_at IS NOT NULL;
CREATE INDEX pawl_runs_open ON pawl_runs (created_at) WHERE ended_at IS NULL;
CREATE INDEX pawl_runs_ended ON pawl_runs (status, created_at, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX pawl_runs_workflow ON pawl_runs (workflow, created_at);
CREATE INDEX pawl_runs_parent ON pawl_runs (parent_run, created_at) WHERE parent_run IS NOT NULL;

CREATE TABLE pawl_inputs (run INTEGER PRIMARY KEY, input TEXT NOT NULL);

CREATE TABLE pawl_tags (tag TEXT NOT NULL, created_at INTEGER NOT NULL, run INTEGER NOT NULL,
  PRIMARY KEY (tag, created_at, run)) WITHOUT ROWID;

CREATE TABLE pawl_journal (
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  location TEXT NOT NULL,
  kind TEXT NOT NULL,
  outcome TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  at INTEGER NOT NULL,
  detail TEXT,
  payload TEXT,
  UNIQUE (run, seq)
);

CREATE TABLE pawl_inbox (
  run INTEGER NOT NULL,
  n INTEGER NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  status TEXT,
  at INTEGER NOT NULL,
  policy TEXT NOT NULL,
  value TEXT,
  PRIMARY KEY (run, n)
) WITHOUT ROWID;

CREATE TABLE pawl_inbox_ids (run INTEGER NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (run, kind, id)) WITHOUT ROWID;
CREATE INDEX pawl_inbox_ids_at ON pawl_inbox_ids (at);

CREATE TABLE pawl_waiters (position INTEGER PRIMARY KEY, topic TEXT NOT NULL, run INTEGER NOT NULL, UNIQUE (run, topic));
CREATE INDEX pawl_waiters_topic ON pawl_waiters (topic);

CREATE TABLE pawl_topics_seen (run INTEGER NOT NULL, topic TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (run, topic)) WITHOUT ROWID;

CREATE TABLE pawl_events (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  topic TEXT NOT NULL,
  at INTEGER NOT NULL,
  expire_at INTEGER NOT NULL,
  deliver TEXT NOT NULL,
  consume TEXT NOT NULL,
  pending_max INTEGER NOT NULL,
  pending INTEGER NOT NULL,
  received INTEGER NOT NULL,
  holder TEXT,
  value TEXT
);
CREATE INDEX pawl_events_pending ON pawl_events (topic, consume) WHERE pending = 1;
CREATE INDEX pawl_events_expire ON pawl_events (expire_at) WHERE pending = 1;
CREATE INDEX pawl_events_over ON pawl_events (at) WHERE pending = 0;

CREATE TABLE pawl_topics (topic TEXT PRIMARY KEY, pending INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE pawl_letters (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  post_id TEXT NOT NULL,
  target TEXT NOT NULL,
  name TEXT NOT NULL,
  reason TEXT NOT NULL,
  status TEXT,
  sent_at INTEGER NOT NULL,
  dead_at INTEGER NOT NULL,
  value TEXT
);
CREATE INDEX pawl_letters_dead ON pawl_letters (dead_at);

CREATE TABLE pawl_documents (kind TEXT NOT NULL, id TEXT NOT NULL, run_id TEXT, a TEXT, b TEXT, c TEXT, d TEXT, body TEXT,
  UNIQUE (kind, id));
CREATE INDEX pawl_documents_run ON pawl_documents (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX pawl_documents_a ON pawl_documents (kind, a, id) WHERE a IS NOT NULL;
CREATE INDEX pawl_documents_b ON pawl_documents (kind, b, id) WHERE b IS NOT NULL;
CREATE INDEX pawl_documents_c ON pawl_documents (kind, c, id) WHERE c IS NOT NULL;
CREATE INDEX pawl_documents_d ON pawl_documents (kind, d, id) WHERE d IS NOT NULL;

CREATE TABLE pawl_workers (id TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, workflows TEXT) WITHOUT ROWID;
`;

/** The steps that make the schema. A published migration never changes; a later one changes its result. */
const MIGRATIONS: readonly string[] = [TABLES_SQL];

const SCHEMA_VERSION = MIGRATIONS.length;

export const SCHEMA_VERSION_SQL = "SELECT version FROM pawl_schema";

/** Throws STORE_UNSUPPORTED if a newer release has changed the schema. */
export function checkSchemaVersion(row: unknown): void {
  const { version } = row as { readonly version: number };
  if (version <= SCHEMA_VERSION) return;
  throw new PawlError(
    "STORE_UNSUPPORTED",
    `the database has schema version ${version}; this release supports up to ${SCHEMA_VERSION}; use a newer release`,
  );
}

/** Applies the migrations that the database does not have. Rejects a database with a newer schema. */
export function migrate(database: SqliteDatabase): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec("CREATE TABLE IF NOT EXISTS pawl_schema (version INTEGER NOT NULL)");
    const row = database.prepare(SCHEMA_VERSION_SQL).get() as { readonly version: number } | undefined;
    if (row !== undefined) checkSchemaVersion(row);
    const version = row?.version ?? 0;
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
    if (row === undefined) database.prepare("INSERT INTO pawl_schema (version) VALUES (?)").run(SCHEMA_VERSION);
    else if (version < SCHEMA_VERSION) database.prepare("UPDATE pawl_schema SET version = ?").run(SCHEMA_VERSION);
    database.exec("COMMIT");
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}
