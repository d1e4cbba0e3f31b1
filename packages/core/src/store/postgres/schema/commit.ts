import { CANCELLED_DOCUMENT, OPEN_DOCUMENT } from "../../../model/transition.ts";
import { INDEX_SCANS_ONLY, ONE_PLAN } from "./planner-settings.ts";
import { chunkOf, NOW_SQL, recordsSql } from "./row-json.ts";

/**
 * The functions that write a commit in one call. The process has decided what the rows become. The function writes them if every
 * row still has the `rev` that the process saw.
 *
 * Locks are taken in one order everywhere: workers, topics, runs, inserted rows; each group sorted by id. If a row has changed
 * (another `rev`, an id that exists already, a dead letter that is gone), nothing is written: the call returns NULL if it has
 * written nothing so far, and otherwise raises an error with this SQLSTATE, which rolls it back.
 */
export const CONFLICT_STATE = "PW001";

/**
 * The parameters of every commit function, in the order of `commitValues`. Runs come as columns: their ids, one JSON object with the
 * values that all of them share, and one list per column in which they differ. Parsing one JSON object per run takes the server longer
 * than writing the run.
 */
const PARAMETERS = `p_now bigint, p_not_before bigint, p_locks text[], p_revs integer[], p_recorded text[], p_seq integer[],
  p_location text[], p_kind text[], p_outcome text[], p_attempts integer[], p_since bigint, p_took bigint[], p_at bigint[],
  p_detail text[], p_payload text[], p_workers text[], p_topics json, p_created text[], p_created_same json, p_created_each json,
  p_tags json, p_saved text[], p_saved_same json, p_saved_each json, p_cuts json, p_inbox json, p_taken json, p_waits json,
  p_events json, p_seen json, p_letters json, p_documents json, p_channel text, p_hints text[], p_childless text[]`;

/** A list of one value stands for that value in every record. Without `p_recorded`, the records belong to the locked runs. */
const VARIABLES = `
  p_run text[] := CASE WHEN p_seq IS NOT NULL THEN coalesce(p_recorded, p_locks) END;
  one_rev integer := p_revs[1];
  one_location text := p_location[1];
  one_kind text := p_kind[1];
  one_outcome text := p_outcome[1];
  one_attempts integer := p_attempts[1];
  one_took bigint := p_took[1];
  one_at bigint := p_at[1];
  one_detail text := p_detail[1];`;

const LOCK_WORKERS_AND_TOPICS = `
  IF p_workers IS NOT NULL THEN
    INSERT INTO @.workers (id, expires_at) SELECT w, 0 FROM unnest(p_workers) AS u(w) ORDER BY w ON CONFLICT DO NOTHING;
    PERFORM 1 FROM @.workers WHERE id = ANY (p_workers) ORDER BY id FOR KEY SHARE;
  END IF;
  IF p_topics IS NOT NULL THEN
    INSERT INTO @.topics (topic, rev, pending)
      SELECT x.topic, 0, 0 FROM json_to_recordset(p_topics) AS x(topic text, rev bigint) WHERE x.rev = 0 ORDER BY x.topic
      ON CONFLICT DO NOTHING;
    SELECT count(*) INTO found FROM (
      SELECT 1 FROM json_to_recordset(p_topics) AS x(topic text, rev bigint) JOIN @.topics t ON t.topic = x.topic AND t.rev = x.rev
      ORDER BY t.topic FOR UPDATE OF t) AS locked;
    IF found < json_array_length(p_topics) THEN
      RAISE EXCEPTION 'a topic has changed' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
  END IF;`;

/** One index scan finds all runs. If their revs differ, they are compared in the order of the ids. */
const LOCK_RUNS = `
  IF p_locks IS NOT NULL THEN
    IF cardinality(p_revs) = 1 THEN
      SELECT count(*) INTO found FROM (
        SELECT 1 FROM @.runs r WHERE r.id = ANY (p_locks) AND r.rev = one_rev ORDER BY r.id FOR UPDATE OF r) AS locked;
    ELSIF ARRAY(SELECT r.rev FROM @.runs r WHERE r.id = ANY (p_locks) ORDER BY r.id FOR UPDATE OF r)
        = ARRAY(SELECT x.rev FROM (SELECT unnest(p_locks) AS id, unnest(p_revs) AS rev) AS x ORDER BY x.id COLLATE "C") THEN
      found := cardinality(p_locks);
    ELSE
      found := 0;
    END IF;
    IF found < cardinality(p_locks) THEN
      IF p_topics IS NULL AND p_workers IS NULL THEN RETURN NULL; END IF;
      RAISE EXCEPTION 'a run has changed' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
  END IF;`;

const HEAD_COLUMNS = {
  undo: "text",
  status: "text",
  epoch: "integer",
  turn: "integer",
  owner: "text",
  wake_at: "bigint",
  started_at: "bigint",
  ended_at: "bigint",
  inbox_last: "integer",
  topics: "integer",
  base_seq: "integer",
  generation: "integer",
  claims: "integer",
  claim_seq: "integer",
  workflow: "text",
  version: "integer",
  control_id: "text",
} as const;

const CREATED_COLUMNS = {
  ...HEAD_COLUMNS,
  created_at: "bigint",
  start_id: "text",
  parent_run: "text",
  parent_location: "text",
  parent_on_close: "text",
  tags: "text",
  limits: "text",
  wait: "text",
  input: "text",
  outcome: "text",
} as const;

const SAVED_COLUMNS = {
  ...HEAD_COLUMNS,
  sets_wait: "boolean",
  wait: "text",
  sets_outcome: "boolean",
  outcome: "text",
  sets_input: "boolean",
  input: "text",
  sets_start: "boolean",
  created_at: "bigint",
  start_id: "text",
  tags: "text",
  limits: "text",
} as const;

export type HeadColumn = keyof typeof HEAD_COLUMNS;
export type CreatedColumn = keyof typeof CREATED_COLUMNS;
export type SavedColumn = keyof typeof SAVED_COLUMNS;

const CREATED_NAMES = Object.keys(CREATED_COLUMNS);
const HEAD_NAMES = Object.keys(HEAD_COLUMNS);
/** Columns that an update leaves unchanged unless their `sets_` flag is set. */
const OPTIONAL_NAMES = ["wait", "outcome", "input"];
/** Columns that change only if their run starts again. */
const START_NAMES = ["created_at", "start_id", "tags", "limits"];

type ColumnTypes = Readonly<Record<string, string>>;

/** The source of the rows to write: a FROM clause whose `x` has the id, and the expression for a column's value. */
interface RowSource {
  readonly from: string;
  readonly value: (name: string) => string;
}

function fieldsSql(columns: ColumnTypes, suffix = ""): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${type}${suffix}`)
    .join(", ");
}

/** Rows that differ only in their ids. */
function sameRows(parameter: string, columns: ColumnTypes, numbers = ""): RowSource {
  const from = `(SELECT unnest(${parameter}) AS id${numbers}) AS x, json_to_record(${parameter}_same) AS s(${fieldsSql(columns)})`;
  return { from, value: (name) => `s.${name}` };
}

/** Rows that differ in some columns. A column has either the shared value or the row's own. */
function eachRows(parameter: string, columns: ColumnTypes, numbers = ""): RowSource {
  const own = Object.keys(columns).map((name) => `unnest(a.${name}) AS ${name}`);
  const from = `(SELECT unnest(${parameter}) AS id${numbers}, ${own.join(", ")}
          FROM json_to_record(${parameter}_each) AS a(${fieldsSql(columns, "[]")})) AS x,
        json_to_record(${parameter}_same) AS s(${fieldsSql(columns)})`;
  return { from, value: (name) => `coalesce(x.${name}, s.${name})` };
}

const insertSql = ({ from, value }: RowSource): string => `INSERT INTO @.runs (n, rev, id, ${CREATED_NAMES.join(", ")})
        SELECT x.n, 1, x.id, ${CREATED_NAMES.map(value).join(", ")}
        FROM ${from}
        ORDER BY x.id COLLATE "C" ON CONFLICT DO NOTHING;`;

function updateSql({ from, value }: RowSource): string {
  const head = HEAD_NAMES.map((name) => `${name} = ${value(name)}`);
  const setIf = (flag: string, name: string): string =>
    `${name} = CASE WHEN ${value(flag)} THEN ${value(name)} ELSE r.${name} END`;
  const optional = OPTIONAL_NAMES.map((name) => setIf(`sets_${name}`, name));
  const start = START_NAMES.map((name) => setIf("sets_start", name));
  return `UPDATE @.runs r SET rev = r.rev + 1, ${[...head, ...optional, ...start].join(", ")}
        FROM ${from}
        WHERE r.id = x.id;`;
}

const NUMBERS = ", unnest(numbers) AS n";

const WRITE_RUNS = `
  IF p_created IS NOT NULL THEN
    numbers := ARRAY(SELECT nextval('@.positions') FROM generate_series(1, cardinality(p_created)));
    IF p_created_each IS NULL THEN
      ${insertSql(sameRows("p_created", CREATED_COLUMNS, NUMBERS))}
    ELSE
      ${insertSql(eachRows("p_created", CREATED_COLUMNS, NUMBERS))}
    END IF;
    GET DIAGNOSTICS found = ROW_COUNT;
    IF found < cardinality(p_created) THEN
      RAISE EXCEPTION 'a run exists already' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
  END IF;
  IF p_tags IS NOT NULL THEN
    DELETE FROM @.tags t USING json_to_recordset(p_tags) AS x(tag text, run_id text) WHERE x.tag IS NULL AND t.run_id = x.run_id;
    INSERT INTO @.tags (tag, created_at, run_id)
      SELECT x.tag, x.created_at, x.run_id FROM json_to_recordset(p_tags) AS x(tag text, created_at bigint, run_id text)
      WHERE x.tag IS NOT NULL;
  END IF;
  IF p_saved IS NOT NULL THEN
    IF p_saved_each IS NULL THEN
      ${updateSql(sameRows("p_saved", SAVED_COLUMNS))}
    ELSE
      ${updateSql(eachRows("p_saved", SAVED_COLUMNS))}
    END IF;
  END IF;`;

/** A record that exists already was added by another process, or by an earlier attempt of this commit. */
const REFUSE_KNOWN_RECORDS = `
    IF EXISTS (SELECT 1 FROM unnest(p_run, p_seq) AS x(run_id, seq) JOIN @.journal j
        ON j.run_id = x.run_id AND ${chunkOf("j.seq")} = ${chunkOf("x.seq")} AND j.seq = x.seq) THEN
      RAISE EXCEPTION 'a record exists already' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;`;

const writeJournal = (check: string): string => `
  IF p_cuts IS NOT NULL THEN
    DELETE FROM @.journal j USING json_to_recordset(p_cuts) AS x(run_id text, first integer, last integer)
      WHERE ${recordsSql("x.run_id", "x.first", "x.last")};
  END IF;
  IF p_run IS NOT NULL THEN${check}
    INSERT INTO @.journal (run_id, seq, location, kind, outcome, attempts, started_at, at, detail, payload)
      SELECT x.run_id, x.seq, coalesce(x.location, one_location), coalesce(x.kind, one_kind),
        coalesce(x.outcome, one_outcome), coalesce(x.attempts, one_attempts),
        p_since + coalesce(x.at, one_at) - coalesce(x.took, one_took), p_since + coalesce(x.at, one_at),
        coalesce(x.detail, one_detail), x.payload
      FROM (SELECT unnest(p_run) AS run_id, unnest(p_seq) AS seq, unnest(p_location) AS location, unnest(p_kind) AS kind,
        unnest(p_outcome) AS outcome, unnest(p_attempts) AS attempts, unnest(p_took) AS took, unnest(p_at) AS at,
        unnest(p_detail) AS detail, unnest(p_payload) AS payload) AS x;
  END IF;`;

const WRITE_INBOXES = `
  IF p_inbox IS NOT NULL THEN
    INSERT INTO @.inbox_ids (run_id, kind, id, n, at)
      SELECT x.run_id, x.kind, x.id, x.n, x.at FROM json_to_recordset(p_inbox)
        AS x(run_id text, kind text, id text, n integer, at bigint, again boolean) WHERE x.again IS NULL;
    INSERT INTO @.inbox_ids (run_id, kind, id, n, at)
      SELECT x.run_id, x.kind, x.id, x.n, x.at FROM json_to_recordset(p_inbox)
        AS x(run_id text, kind text, id text, n integer, at bigint, again boolean) WHERE x.again
      ON CONFLICT (run_id, kind, id) DO UPDATE SET n = excluded.n, at = excluded.at;
    INSERT INTO @.inbox (run_id, n, kind, id, name, status, at, policy, value)
      SELECT x.run_id, x.n, x.kind, x.id, x.name, x.status, x.at, x.policy, x.value FROM json_to_recordset(p_inbox)
        AS x(run_id text, n integer, kind text, id text, name text, status text, at bigint, policy text, value text);
  END IF;
  IF p_taken IS NOT NULL THEN
    DELETE FROM @.inbox i USING json_to_recordset(p_taken) AS x(run_id text, first integer, last integer)
      WHERE i.run_id = x.run_id AND i.n >= x.first AND i.n <= x.last;
  END IF;
  IF p_waits IS NOT NULL THEN
    WITH gone AS (DELETE FROM @.waiters w USING json_to_recordset(p_waits) AS x(run_id text, topics text[])
        WHERE w.run_id = x.run_id AND (x.topics IS NULL OR w.topic <> ALL (x.topics)) RETURNING w.topic)
      SELECT array_agg(DISTINCT gone.topic) INTO quiet FROM gone;
    WITH fresh AS (SELECT x.run_id, t.topic FROM json_to_recordset(p_waits) AS x(run_id text, topics text[], position integer),
        unnest(x.topics) AS t(topic)
        WHERE NOT EXISTS (SELECT 1 FROM @.waiters w WHERE w.run_id = x.run_id AND w.topic = t.topic) ORDER BY x.position)
      INSERT INTO @.waiters (position, run_id, topic) SELECT nextval('@.positions'), f.run_id, f.topic FROM fresh f;
  END IF;`;

/** Topics that are `quiet`, without a waiter or a pending event, lose their row. */
const WRITE_EVENTS = `
  IF p_events IS NOT NULL THEN
    numbers := ARRAY(SELECT nextval('@.positions') FROM generate_series(1, json_array_length(p_events)));
    DELETE FROM @.events e USING json_to_recordset(p_events) AS x(id text, what text)
      WHERE e.id = x.id AND x.what IN ('replace', 'remove');
    INSERT INTO @.events (n, id, topic, at, expire_at, deliver, consume, pending_max, pending, received, holder, value)
      SELECT numbers[x.n], x.id, x.topic, x.at, x.expire_at, x.deliver, x.consume, x.pending_max, x.pending, x.received, x.holder,
        x.value
      FROM json_to_recordset(p_events) AS x(what text, n bigint, id text, topic text, at bigint, expire_at bigint, deliver text,
        consume text, pending_max integer, pending boolean, received boolean, holder text, value text)
      WHERE x.what IN ('insert', 'replace') ORDER BY x.id;
    UPDATE @.events e SET pending = x.pending, received = x.received, holder = x.holder, value = x.value
      FROM json_to_recordset(p_events) AS x(what text, id text, pending boolean, received boolean, holder text, value text)
      WHERE e.id = x.id AND x.what = 'save';
  END IF;
  IF p_seen IS NOT NULL THEN
    INSERT INTO @.topics_seen (run_id, topic, n)
      SELECT x.run_id, x.topic, CASE WHEN x.fresh THEN numbers[x.n] ELSE x.n END
      FROM json_to_recordset(p_seen) AS x(run_id text, topic text, n bigint, fresh boolean)
      ON CONFLICT (run_id, topic) DO UPDATE SET n = excluded.n;
  END IF;
  IF p_topics IS NOT NULL THEN
    UPDATE @.topics t SET rev = nextval('@.positions'), pending = x.pending
      FROM json_to_recordset(p_topics) AS x(topic text, pending integer) WHERE t.topic = x.topic;
    quiet := coalesce(quiet, '{}') || ARRAY(SELECT x.topic FROM json_to_recordset(p_topics) AS x(topic text));
  END IF;
  IF cardinality(quiet) > 0 THEN
    DELETE FROM @.topics t WHERE t.topic IN (SELECT q.topic FROM @.topics q WHERE q.topic = ANY (quiet) AND q.pending = 0
      AND NOT EXISTS (SELECT 1 FROM @.waiters w WHERE w.topic = q.topic) FOR UPDATE SKIP LOCKED);
  END IF;`;

const WRITE_LETTERS = `
  IF p_letters IS NOT NULL THEN
    SELECT count(*) INTO wanted FROM json_to_recordset(p_letters) AS x(what text) WHERE x.what = 'remove';
    DELETE FROM @.letters l USING json_to_recordset(p_letters) AS x(id text, what text) WHERE l.id = x.id AND x.what = 'remove';
    GET DIAGNOSTICS found = ROW_COUNT;
    IF found < wanted THEN
      RAISE EXCEPTION 'a dead letter is gone' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
    numbers := ARRAY(SELECT nextval('@.positions') FROM generate_series(1, json_array_length(p_letters)));
    INSERT INTO @.letters (n, id, kind, post_id, target, name, reason, status, sent_at, dead_at, value)
      SELECT numbers[x.n], x.id, x.kind, x.post_id, x.target, x.name, x.reason, x.status, x.sent_at, x.dead_at, x.value
      FROM json_to_recordset(p_letters) AS x(what text, n integer, id text, kind text, post_id text, target text, name text,
        reason text, status text, sent_at bigint, dead_at bigint, value text)
      WHERE x.what = 'insert' ORDER BY x.id ON CONFLICT DO NOTHING;
  END IF;`;

const PUT_DOCUMENTS = `INSERT INTO @.documents AS o (kind, id, run_id, a, b, c, d, body)
      SELECT x.kind, x.id, x.run_id, x.a, x.b, x.c, x.d, x.body FROM json_to_recordset(p_documents)
        AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text, body text)
      WHERE x.what = 'put' ORDER BY x.kind, x.id
      ON CONFLICT (kind, id) DO UPDATE SET run_id = excluded.run_id, a = excluded.a, b = excluded.b, c = excluded.c,
        d = excluded.d, body = excluded.body;`;

const REMOVE_DOCUMENTS = `DELETE FROM @.documents o USING json_to_recordset(p_documents) AS x(what text, kind text, id text)
      WHERE o.kind = x.kind AND o.id = x.id AND x.what = 'remove';`;

const commitSql = (name: string, checkRecords: string): string => `
CREATE FUNCTION @.${name}(${PARAMETERS}) RETURNS bigint LANGUAGE plpgsql ${INDEX_SCANS_ONLY} ${ONE_PLAN} AS $body$
DECLARE${VARIABLES}
  found bigint;
  wanted bigint;
  numbers bigint[];
  quiet text[];
  present bigint;
BEGIN
${LOCK_WORKERS_AND_TOPICS}${LOCK_RUNS}
  IF p_childless IS NOT NULL AND EXISTS (SELECT 1 FROM @.runs c WHERE c.parent_run = ANY (p_childless)
      AND c.parent_on_close = 'cancel' AND c.ended_at IS NULL) THEN
    RAISE EXCEPTION 'a run has children' USING ERRCODE = '${CONFLICT_STATE}';
  END IF;
  present := ${NOW_SQL};
  IF p_not_before > present THEN
    RAISE EXCEPTION 'the deadline has not passed' USING ERRCODE = '${CONFLICT_STATE}';
  END IF;
${WRITE_RUNS}${writeJournal(checkRecords)}${WRITE_INBOXES}${WRITE_EVENTS}${WRITE_LETTERS}
  IF p_documents IS NOT NULL THEN
    ${REMOVE_DOCUMENTS}
    ${PUT_DOCUMENTS}
  END IF;
  IF p_hints IS NOT NULL THEN
    PERFORM pg_notify(p_channel, h) FROM unnest(p_hints) AS u(h);
  END IF;
  RETURN present;
END $body$;
`;

/** The names of the parameters, with NULL for the documents: `commit_documents` writes those itself. */
const ARGUMENTS_WITHOUT_DOCUMENTS = PARAMETERS.split(",")
  .map((parameter) => parameter.trim().split(/\s+/)[0] ?? "")
  .map((name) => (name === "p_documents" ? "NULL" : name))
  .join(", ");

/**
 * A commit whose changes of documents depend on the stored rows: it cancels open documents of `p_closed`, marks existing documents, and
 * replaces a document only if it is the one that the process saw.
 */
const COMMIT_DOCUMENTS = `
CREATE FUNCTION @.commit_documents(${PARAMETERS}, p_closed text[]) RETURNS bigint LANGUAGE plpgsql ${INDEX_SCANS_ONLY} ${ONE_PLAN} AS $body$
DECLARE
  found bigint;
  wanted bigint;
  present bigint;
BEGIN
  present := @.commit_checked(${ARGUMENTS_WITHOUT_DOCUMENTS});
  IF present IS NULL THEN RETURN NULL; END IF;
  IF p_closed IS NOT NULL THEN
    UPDATE @.documents o SET d = '${CANCELLED_DOCUMENT}' WHERE o.run_id = ANY (p_closed) AND o.d = '${OPEN_DOCUMENT}';
  END IF;
  IF p_documents IS NULL THEN RETURN present; END IF;
    ${REMOVE_DOCUMENTS}
  SELECT count(*) INTO wanted FROM json_to_recordset(p_documents) AS x(what text) WHERE x.what IN ('revise', 'insert');
  IF wanted > 0 THEN
    UPDATE @.documents o SET run_id = x.run_id, a = x.a, b = x.b, c = x.c, d = x.d, body = x.body
      FROM json_to_recordset(p_documents) AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text,
        body text, s_run text, s_body text, s_a text, s_b text, s_c text, s_d text)
      WHERE x.what = 'revise' AND o.kind = x.kind AND o.id = x.id AND o.run_id IS NOT DISTINCT FROM x.s_run
        AND o.body IS NOT DISTINCT FROM x.s_body AND o.a IS NOT DISTINCT FROM x.s_a AND o.b IS NOT DISTINCT FROM x.s_b
        AND o.c IS NOT DISTINCT FROM x.s_c AND o.d IS NOT DISTINCT FROM x.s_d;
    GET DIAGNOSTICS found = ROW_COUNT;
    wanted := wanted - found;
    INSERT INTO @.documents (kind, id, run_id, a, b, c, d, body)
      SELECT x.kind, x.id, x.run_id, x.a, x.b, x.c, x.d, x.body FROM json_to_recordset(p_documents)
        AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text, body text)
      WHERE x.what = 'insert' ORDER BY x.kind, x.id ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS found = ROW_COUNT;
    IF found < wanted THEN
      RAISE EXCEPTION 'a document has changed' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
  END IF;
  UPDATE @.documents o SET a = coalesce(x.m_a, o.a), b = coalesce(x.m_b, o.b), c = coalesce(x.m_c, o.c), d = coalesce(x.m_d, o.d)
    FROM json_to_recordset(p_documents) AS x(what text, kind text, id text, m_a text, m_b text, m_c text, m_d text)
    WHERE x.what IN ('mark', 'create') AND o.kind = x.kind AND o.id = x.id;
  INSERT INTO @.documents (kind, id, run_id, a, b, c, d, body)
    SELECT x.kind, x.id, x.run_id, x.a, x.b, x.c, x.d, x.body FROM json_to_recordset(p_documents)
      AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text, body text)
    WHERE x.what = 'create' ORDER BY x.kind, x.id ON CONFLICT DO NOTHING;
    ${PUT_DOCUMENTS}
  RETURN present;
END $body$;
`;

/** A commit of one record of one run, in half the time of `commit`. Most steps are committed like this. */
const APPEND = `
CREATE FUNCTION @.append_record(p_now bigint, p_run text, p_rev integer, p_seq integer, p_location text, p_kind text, p_outcome text,
  p_attempts integer, p_started_at bigint, p_at bigint, p_detail text, p_payload text) RETURNS bigint
  LANGUAGE plpgsql ${INDEX_SCANS_ONLY} ${ONE_PLAN} AS $body$
BEGIN
  PERFORM 1 FROM @.runs r WHERE r.id = p_run AND r.rev = p_rev FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO @.journal (run_id, seq, location, kind, outcome, attempts, started_at, at, detail, payload)
    VALUES (p_run, p_seq, p_location, p_kind, p_outcome, p_attempts, p_started_at, p_at, p_detail, p_payload);
  RETURN ${NOW_SQL};
END $body$;
`;

export const COMMIT_SQL = [
  commitSql("commit", ""),
  commitSql("commit_checked", REFUSE_KNOWN_RECORDS),
  COMMIT_DOCUMENTS,
  APPEND,
].join("");
