import { chunkOf } from "./row-json.ts";

/** From this number of claims on, a run is in the index of suspects. */
export const SUSPECT_CLAIMS_MIN = 2;

/**
 * The tables and their indexes. `@` stands for the schema.
 *
 * Every table of rows that belong to runs has the run's id first in its key, so the rows of a run can be placed on one node of a
 * distributed database. Text is compared by its bytes: no locale and no upgrade of the system changes that order.
 *
 * `rev` grows with every change of a row. A writer passes the `rev` it saw, so rows that were read without a lock, or cached since the
 * last commit, are proven current when they are written.
 *
 * The index of `journal` has one entry per chunk of records (`chunkOf`), which makes it a fifth as large. It cannot keep seqs unique:
 * `rev` does, and a check under the lock of the run (`CommitWriter.3`). Without a primary key, a publication of the table needs whole rows as
 * its replica identity.
 *
 * The indexes for lists of runs do not contain the ids, so runs created in the same millisecond share an entry. Only `runs_ended` contains
 * all that pruning compares and sorts by.
 */
export const TABLES_SQL = `
CREATE SEQUENCE @.positions;

CREATE TABLE @.runs (
  n bigint NOT NULL,
  wake_at bigint,
  created_at bigint NOT NULL,
  started_at bigint,
  ended_at bigint,
  rev integer NOT NULL,
  epoch integer NOT NULL,
  turn integer NOT NULL,
  inbox_last integer NOT NULL,
  topics integer NOT NULL,
  base_seq integer NOT NULL,
  generation integer NOT NULL,
  claims integer NOT NULL,
  claim_seq integer NOT NULL,
  version integer NOT NULL,
  id text COLLATE "C" PRIMARY KEY,
  status text COLLATE "C" NOT NULL,
  undo text COLLATE "C" NOT NULL,
  owner text COLLATE "C",
  workflow text COLLATE "C" NOT NULL,
  start_id text COLLATE "C" NOT NULL,
  control_id text COLLATE "C",
  parent_run text COLLATE "C",
  parent_location text COLLATE "C",
  parent_on_close text COLLATE "C",
  tags text COLLATE "C",
  limits text COLLATE "C",
  wait text COLLATE "C",
  input text COLLATE "C",
  outcome text COLLATE "C"
) WITH (fillfactor = 90);
CREATE INDEX runs_owned ON @.runs (owner, wake_at) WHERE owner IS NOT NULL;
CREATE INDEX runs_claimable ON @.runs (workflow, version, wake_at, n) WHERE owner IS NULL AND wake_at IS NOT NULL;
CREATE INDEX runs_suspect ON @.runs (workflow, version, wake_at, n)
  WHERE owner IS NULL AND wake_at IS NOT NULL AND claims >= ${SUSPECT_CLAIMS_MIN};
CREATE INDEX runs_open ON @.runs (created_at) WHERE ended_at IS NULL;
CREATE INDEX runs_ended ON @.runs (status, created_at, n, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_workflow ON @.runs (workflow, created_at);
CREATE INDEX runs_parent ON @.runs (parent_run, created_at) WHERE parent_run IS NOT NULL;

CREATE TABLE @.tags (
  created_at bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (tag, created_at, run_id)
);
CREATE INDEX tags_run ON @.tags (run_id);

CREATE TABLE @.journal (
  started_at bigint NOT NULL,
  at bigint NOT NULL,
  seq integer NOT NULL,
  attempts integer NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  location text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  detail text COLLATE "C" NOT NULL,
  payload text COLLATE "C"
);
CREATE INDEX journal_chunks ON @.journal (run_id, ${chunkOf("seq")});
ALTER TABLE @.journal REPLICA IDENTITY FULL;

CREATE TABLE @.inbox (
  at bigint NOT NULL,
  n integer NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  status text COLLATE "C",
  policy text COLLATE "C" NOT NULL,
  value text COLLATE "C",
  PRIMARY KEY (run_id, n)
);

CREATE TABLE @.inbox_ids (
  at bigint NOT NULL,
  n integer NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, kind, id)
);
CREATE INDEX inbox_ids_at ON @.inbox_ids (at);

CREATE TABLE @.waiters (
  position bigint NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, topic)
);
CREATE INDEX waiters_topic ON @.waiters (topic, position);

CREATE TABLE @.topics_seen (
  n bigint NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  PRIMARY KEY (run_id, topic)
);

CREATE TABLE @.topics (
  rev bigint NOT NULL,
  pending integer NOT NULL,
  topic text COLLATE "C" PRIMARY KEY
) WITH (fillfactor = 70);

CREATE TABLE @.events (
  n bigint NOT NULL,
  at bigint NOT NULL,
  expire_at bigint NOT NULL,
  pending_max integer NOT NULL,
  pending boolean NOT NULL,
  received boolean NOT NULL,
  id text COLLATE "C" PRIMARY KEY,
  topic text COLLATE "C" NOT NULL,
  deliver text COLLATE "C" NOT NULL,
  consume text COLLATE "C" NOT NULL,
  holder text COLLATE "C",
  value text COLLATE "C"
);
CREATE INDEX events_pending ON @.events (topic, consume, n) WHERE pending;
CREATE INDEX events_expire ON @.events (expire_at) WHERE pending;
CREATE INDEX events_over ON @.events (at) WHERE NOT pending;

CREATE TABLE @.letters (
  n bigint NOT NULL,
  sent_at bigint NOT NULL,
  dead_at bigint NOT NULL,
  id text COLLATE "C" PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  post_id text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  status text COLLATE "C",
  value text COLLATE "C"
);
CREATE UNIQUE INDEX letters_n ON @.letters (n);
CREATE INDEX letters_dead ON @.letters (dead_at, n);

CREATE TABLE @.documents (
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C",
  a text COLLATE "C",
  b text COLLATE "C",
  c text COLLATE "C",
  d text COLLATE "C",
  body text COLLATE "C",
  PRIMARY KEY (kind, id)
);
CREATE INDEX documents_run ON @.documents (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX documents_a ON @.documents (kind, a, id) WHERE a IS NOT NULL;
CREATE INDEX documents_b ON @.documents (kind, b, id) WHERE b IS NOT NULL;
CREATE INDEX documents_c ON @.documents (kind, c, id) WHERE c IS NOT NULL;
CREATE INDEX documents_d ON @.documents (kind, d, id) WHERE d IS NOT NULL;

CREATE TABLE @.workers (
  expires_at bigint NOT NULL,
  id text COLLATE "C" PRIMARY KEY,
  workflows text COLLATE "C"
) WITH (fillfactor = 50);
CREATE INDEX workers_expires ON @.workers (expires_at, id);
`;
