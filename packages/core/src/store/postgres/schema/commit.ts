import { CANCELLED_DOCUMENT, OPEN_DOCUMENT } from "../../../model/transition.ts";
import { chunkOf, NOW_SQL, recordsSql } from "./row-json.ts";

/**
 * One commit in one call. The caller has worked out what the rows become; here it is written, if the rows are still those that
 * it saw.
 *
 * Locks are taken in one order everywhere: workers, topics, runs, then rows that are added, each in the order of their ids.
 * A row that has changed meanwhile (another `rev`, a run or an id that is there already, a letter that is gone) ends the call
 * without a trace: it returns NULL where nothing was written yet, else it raises an error with the code below.
 */
export const CONFLICT_STATE = "PW001";

/** Index scans alone: a plan made while a table was empty must not read all of it when it is large. */
export const PLAN = `SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan`;

const SHARED_LOCKS = `
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

/** `found` is how many of the runs are as they were seen; `locked` says how they are looked for. */
const runLocks = (locked: string): string => `
  IF p_locks IS NOT NULL THEN
${locked}
    IF found < cardinality(p_locks) THEN
      IF p_topics IS NULL AND p_workers IS NULL THEN RETURN NULL; END IF;
      RAISE EXCEPTION 'a run has changed' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
  END IF;`;

const ONE_BY_ONE = `    SELECT count(*) INTO found FROM (
      SELECT 1 FROM unnest(p_locks, p_revs) AS x(id, rev) JOIN @.runs r ON r.id = x.id AND r.rev = x.rev
      ORDER BY r.id FOR UPDATE OF r) AS locked;`;

export const TAGS = `  IF p_tags IS NOT NULL THEN
    INSERT INTO @.tags (tag, created_at, run_id)
      SELECT x.tag, x.created_at, x.run_id FROM json_to_recordset(p_tags) AS x(tag text, created_at bigint, run_id text);
  END IF;`;

const RUNS = `
  IF p_inserts IS NOT NULL THEN
    places := ARRAY(SELECT nextval('@.places') FROM generate_series(1, json_array_length(p_inserts)));
    INSERT INTO @.runs (n, rev, id, undo, status, epoch, turn, owner, wake_at, created_at, started_at, ended_at, inbox_last, topics,
        base_seq, generation, claims, claim_seq, workflow, version, start_id, control_id, parent_run, parent_location,
        parent_on_close, tags, wait, input, outcome)
      SELECT places[x.place], 1, x.id, x.undo, x.status, x.epoch, x.turn, x.owner, x.wake_at, x.created_at, x.started_at, x.ended_at,
        x.inbox_last, x.topics, x.base_seq, x.generation, x.claims, x.claim_seq, x.workflow, x.version, x.start_id, x.control_id,
        x.parent_run, x.parent_location, x.parent_on_close, x.tags, x.wait, x.input, x.outcome
      FROM json_to_recordset(p_inserts) AS x(place integer, id text, undo text, status text, epoch integer, turn integer, owner text,
        wake_at bigint, created_at bigint, started_at bigint, ended_at bigint, inbox_last integer, topics integer,
        base_seq integer, generation integer, claims integer, claim_seq integer, workflow text, version integer, start_id text,
        control_id text, parent_run text, parent_location text, parent_on_close text, tags text, wait text, input text,
        outcome text)
      ORDER BY x.id ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS found = ROW_COUNT;
    IF found < json_array_length(p_inserts) THEN
      RAISE EXCEPTION 'a run is there already' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
  END IF;
${TAGS}
  IF p_updates IS NOT NULL THEN
    UPDATE @.runs r SET rev = r.rev + 1, status = x.status, undo = x.undo, epoch = x.epoch, turn = x.turn, owner = x.owner, wake_at = x.wake_at,
        started_at = x.started_at, ended_at = x.ended_at, inbox_last = x.inbox_last, topics = x.topics, base_seq = x.base_seq,
        generation = x.generation, claims = x.claims, claim_seq = x.claim_seq, workflow = x.workflow, version = x.version,
        control_id = x.control_id,
        wait = CASE WHEN x.sets_wait THEN x.wait ELSE r.wait END,
        outcome = CASE WHEN x.sets_outcome THEN x.outcome ELSE r.outcome END,
        input = CASE WHEN x.sets_input THEN x.input ELSE r.input END
      FROM json_to_recordset(p_updates) AS x(id text, undo text, status text, epoch integer, turn integer, owner text, wake_at bigint,
        started_at bigint, ended_at bigint, inbox_last integer, topics integer, base_seq integer, generation integer,
        claims integer, claim_seq integer, workflow text, version integer, control_id text, wait text, outcome text, input text,
        sets_wait boolean, sets_outcome boolean, sets_input boolean)
      WHERE r.id = x.id;
  END IF;`;

interface JournalSql {
  /** Which records of `j` are in a cut `x`. */
  readonly cut: string;
  /** What has to hold before records are added. */
  readonly check: string;
  readonly records: string;
}

const belongings = ({ cut, check, records }: JournalSql): string => `
  IF p_cuts IS NOT NULL THEN
    DELETE FROM @.journal j USING json_to_recordset(p_cuts) AS x(run_id text, first integer, last integer)
      WHERE ${cut};
  END IF;
  IF p_run IS NOT NULL THEN${check}
    INSERT INTO @.journal (run_id, seq, location, kind, outcome, attempts, started_at, at, detail, payload)
      ${records};
  END IF;
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
    WITH fresh AS (SELECT x.run_id, t.topic FROM json_to_recordset(p_waits) AS x(run_id text, topics text[], place integer),
        unnest(x.topics) AS t(topic)
        WHERE NOT EXISTS (SELECT 1 FROM @.waiters w WHERE w.run_id = x.run_id AND w.topic = t.topic) ORDER BY x.place)
      INSERT INTO @.waiters (place, run_id, topic) SELECT nextval('@.places'), f.run_id, f.topic FROM fresh f;
  END IF;`;

const EVENTS = `
  IF p_events IS NOT NULL THEN
    places := ARRAY(SELECT nextval('@.places') FROM generate_series(1, json_array_length(p_events)));
    DELETE FROM @.events e USING json_to_recordset(p_events) AS x(id text, what text)
      WHERE e.id = x.id AND x.what IN ('replace', 'remove');
    INSERT INTO @.events (n, id, topic, at, expire_at, deliver, consume, pending_max, pending, received, holder, value)
      SELECT places[x.n], x.id, x.topic, x.at, x.expire_at, x.deliver, x.consume, x.pending_max, x.pending, x.received, x.holder,
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
      SELECT x.run_id, x.topic, CASE WHEN x.fresh THEN places[x.n] ELSE x.n END
      FROM json_to_recordset(p_seen) AS x(run_id text, topic text, n bigint, fresh boolean)
      ON CONFLICT (run_id, topic) DO UPDATE SET n = excluded.n;
  END IF;
  IF p_topics IS NOT NULL THEN
    UPDATE @.topics t SET rev = nextval('@.places'), pending = x.pending
      FROM json_to_recordset(p_topics) AS x(topic text, pending integer) WHERE t.topic = x.topic;
    quiet := coalesce(quiet, '{}') || ARRAY(SELECT x.topic FROM json_to_recordset(p_topics) AS x(topic text));
  END IF;
  IF cardinality(quiet) > 0 THEN
    DELETE FROM @.topics t WHERE t.topic IN (SELECT q.topic FROM @.topics q WHERE q.topic = ANY (quiet) AND q.pending = 0
      AND NOT EXISTS (SELECT 1 FROM @.waiters w WHERE w.topic = q.topic) FOR UPDATE SKIP LOCKED);
  END IF;`;

const REST = `
  IF p_letters IS NOT NULL THEN
    SELECT count(*) INTO wanted FROM json_to_recordset(p_letters) AS x(what text) WHERE x.what = 'remove';
    DELETE FROM @.letters l USING json_to_recordset(p_letters) AS x(id text, what text) WHERE l.id = x.id AND x.what = 'remove';
    GET DIAGNOSTICS found = ROW_COUNT;
    IF found < wanted THEN
      RAISE EXCEPTION 'a letter is gone' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
    places := ARRAY(SELECT nextval('@.places') FROM generate_series(1, json_array_length(p_letters)));
    INSERT INTO @.letters (n, id, kind, post_id, target, name, reason, status, sent_at, dead_at, value)
      SELECT places[x.place], x.id, x.kind, x.post_id, x.target, x.name, x.reason, x.status, x.sent_at, x.dead_at, x.value
      FROM json_to_recordset(p_letters) AS x(what text, place integer, id text, kind text, post_id text, target text, name text,
        reason text, status text, sent_at bigint, dead_at bigint, value text)
      WHERE x.what = 'insert' ORDER BY x.id ON CONFLICT DO NOTHING;
  END IF;
  IF p_documents IS NOT NULL THEN
    DELETE FROM @.documents d USING json_to_recordset(p_documents) AS x(what text, kind text, id text)
      WHERE d.kind = x.kind AND d.id = x.id AND x.what = 'remove';
    INSERT INTO @.documents AS o (kind, id, run_id, a, b, c, d, body)
      SELECT x.kind, x.id, x.run_id, x.a, x.b, x.c, x.d, x.body FROM json_to_recordset(p_documents)
        AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text, body text)
      WHERE x.what = 'put' ORDER BY x.kind, x.id
      ON CONFLICT (kind, id) DO UPDATE SET run_id = excluded.run_id, a = excluded.a, b = excluded.b, c = excluded.c,
        d = excluded.d, body = excluded.body;
  END IF;
  IF p_hints IS NOT NULL THEN
    PERFORM pg_notify(p_channel, h) FROM unnest(p_hints) AS u(h);
  END IF;`;

/** In the order in which `commit-call.ts` gives them. */
export const PARAMETERS = `p_now bigint, p_not_before bigint, p_locks text[], p_revs integer[], p_run text[], p_seq integer[],
  p_location text[], p_kind text[], p_outcome text[], p_attempts integer[], p_started_at bigint[], p_at bigint[], p_detail text[],
  p_payload text[], p_workers text[], p_topics json, p_inserts json, p_tags json, p_updates json, p_cuts json, p_inbox json,
  p_taken json, p_waits json, p_events json, p_seen json, p_letters json, p_documents json, p_channel text, p_hints text[],
  p_childless text[]`;

/** Where the ways to write a commit differ. */
interface CommitSql {
  readonly parameters: string;
  readonly variables: string;
  readonly locked: string;
  readonly runs: string;
  readonly journal: JournalSql;
}

export const commitSql = (name: string, { parameters, variables, locked, runs, journal }: CommitSql): string => `
CREATE FUNCTION @.${name}(${parameters}) RETURNS bigint LANGUAGE plpgsql ${PLAN} AS $body$
DECLARE${variables}
  found bigint;
  wanted bigint;
  places bigint[];
  quiet text[];
  present bigint;
BEGIN
${SHARED_LOCKS}${runLocks(locked)}
  IF p_childless IS NOT NULL AND EXISTS (SELECT 1 FROM @.runs c WHERE c.parent_run = ANY (p_childless)
      AND c.parent_on_close = 'cancel' AND c.ended_at IS NULL) THEN
    RAISE EXCEPTION 'a run has children' USING ERRCODE = '${CONFLICT_STATE}';
  END IF;
  present := ${NOW_SQL};
  IF p_not_before > present THEN
    RAISE EXCEPTION 'the deadline has not come' USING ERRCODE = '${CONFLICT_STATE}';
  END IF;
${runs}
${belongings(journal)}
${EVENTS}
${REST}
  RETURN present;
END $body$;
`;

/** The way in which runs come as JSON, an object each. */
const inObjects = (name: string, journal: JournalSql): string =>
  commitSql(name, { parameters: PARAMETERS, variables: "", locked: ONE_BY_ONE, runs: RUNS, journal });

export const COMMIT_SQL = inObjects("commit_1", {
  cut: "j.run_id = x.run_id AND j.seq >= x.first AND j.seq <= x.last",
  check: "",
  records:
    "SELECT * FROM unnest(p_run, p_seq, p_location, p_kind, p_outcome, p_attempts, p_started_at, p_at, p_detail, p_payload)",
});

/** A record that is there already: others have added to the journal, or what was sent twice has come a second time. */
export const TAKEN = `
    IF EXISTS (SELECT 1 FROM unnest(p_run, p_seq) AS x(run_id, seq) JOIN @.journal j
        ON j.run_id = x.run_id AND ${chunkOf("j.seq")} = ${chunkOf("x.seq")} AND j.seq = x.seq) THEN
      RAISE EXCEPTION 'a record is there already' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;`;

/** What is the same for all records comes once. */
const RECORDS = `SELECT x.run_id, x.seq, x.location, coalesce(x.kind, p_kind[1]), coalesce(x.outcome, p_outcome[1]),
        coalesce(x.attempts, p_attempts[1]), x.started_at, x.at, coalesce(x.detail, p_detail[1]), x.payload
      FROM (SELECT unnest(p_run) AS run_id, unnest(p_seq) AS seq, unnest(p_location) AS location, unnest(p_kind) AS kind,
        unnest(p_outcome) AS outcome, unnest(p_attempts) AS attempts, unnest(p_started_at) AS started_at, unnest(p_at) AS at,
        unnest(p_detail) AS detail, unnest(p_payload) AS payload) AS x`;

export const CUT = recordsSql("x.run_id", "x.first", "x.last");

/** The same over a journal whose index leads to chunks, and tells no record from another; and with a look for those that are there. */
export const COMMIT_CHUNKS_SQL =
  inObjects("commit_10", { cut: CUT, check: "", records: RECORDS }) +
  inObjects("commit_checked_10", { cut: CUT, check: TAKEN, records: RECORDS });

/** What `commit_1` does where one record of one run is all there is, in half the time: a step after another is that and nothing else. */
export const APPEND_SQL = `
CREATE FUNCTION @.append_7(p_now bigint, p_run text, p_rev integer, p_seq integer, p_location text, p_kind text, p_outcome text,
  p_attempts integer, p_started_at bigint, p_at bigint, p_detail text, p_payload text) RETURNS bigint LANGUAGE plpgsql ${PLAN} AS $body$
BEGIN
  PERFORM 1 FROM @.runs r WHERE r.id = p_run AND r.rev = p_rev FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO @.journal (run_id, seq, location, kind, outcome, attempts, started_at, at, detail, payload)
    VALUES (p_run, p_seq, p_location, p_kind, p_outcome, p_attempts, p_started_at, p_at, p_detail, p_payload);
  RETURN ${NOW_SQL};
END $body$;
`;

/** The names of the parameters of a commit, but with nothing to do to documents. */
function passedOn(parameters: string): string {
  const names = parameters.split(",").map((parameter) => parameter.trim().split(/\s+/)[0] ?? "");
  return names.map((name) => (name === "p_documents" ? "NULL" : name)).join(", ");
}

/**
 * A commit that also does to documents what has to be seen by the database: what is open is closed, what is there is marked, and
 * what takes the place of something takes the place of nothing else.
 */
export const documentsSql = (name: string, commit: string, parameters: string): string => `
CREATE FUNCTION @.${name}(${parameters}, p_closed text[]) RETURNS bigint LANGUAGE plpgsql ${PLAN} AS $body$
DECLARE
  found bigint;
  wanted bigint;
  present bigint;
BEGIN
  present := @.${commit}(${passedOn(parameters)});
  IF present IS NULL THEN RETURN NULL; END IF;
  IF p_closed IS NOT NULL THEN
    UPDATE @.documents o SET d = '${CANCELLED_DOCUMENT}' WHERE o.run_id = ANY (p_closed) AND o.d = '${OPEN_DOCUMENT}';
  END IF;
  IF p_documents IS NULL THEN RETURN present; END IF;
  DELETE FROM @.documents o USING json_to_recordset(p_documents) AS x(what text, kind text, id text)
    WHERE o.kind = x.kind AND o.id = x.id AND x.what = 'remove';
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
  INSERT INTO @.documents AS o (kind, id, run_id, a, b, c, d, body)
    SELECT x.kind, x.id, x.run_id, x.a, x.b, x.c, x.d, x.body FROM json_to_recordset(p_documents)
      AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text, body text)
    WHERE x.what = 'put' ORDER BY x.kind, x.id
    ON CONFLICT (kind, id) DO UPDATE SET run_id = excluded.run_id, a = excluded.a, b = excluded.b, c = excluded.c,
      d = excluded.d, body = excluded.body;
  RETURN present;
END $body$;
`;

export const DOCUMENTS_SQL = documentsSql("commit_6", "commit_1", PARAMETERS);

export const DOCUMENTS_CHUNKS_SQL = documentsSql("commit_documents_10", "commit_checked_10", PARAMETERS);
