import { INBOX_CACHED_MAX } from "../row-cache.ts";
import { INDEX_SCANS_ONLY, ONE_PLAN } from "./planner-settings.ts";
import { chunkOf, HEAD_VALUES, NEWEST_SEQ, NOW_SQL, RUN_JSON, recordsSql } from "./row-json.ts";

/**
 * Frequent reads, as functions. A connection plans a function once; a statement that is sent as text is planned each time, which takes
 * longer than executing it.
 */

export const RECORD_JSON =
  "json_build_array(j.seq, j.location, j.kind, j.outcome, j.payload, j.attempts, j.started_at, j.at, j.detail)";

export const ENTRY_JSON = "json_build_array(i.run_id, i.n, i.kind, i.id, i.name, i.value, i.status, i.at, i.policy)";

/** The bytes of a small inbox, as the database stores them. */
const INBOX_BYTES_MAX = 65_536;

/** The parameters of both functions that read rows, in the order of `rowsValues`. */
const ROWS_PARAMETERS = `p_now bigint, p_runs text[], p_inboxes text[], p_known json, p_topics json, p_events text[],
  p_children text[], p_letters text[], p_seen json, p_floors json`;

const KNOWN_RUNS = `SELECT json_agg(json_build_array(${HEAD_VALUES}, r.wait, ${NEWEST_SEQ})) `;

/** The newest seq of run `x` that is not above `x.seq`. */
const FLOOR_SEQ = `(SELECT j.seq FROM @.journal j WHERE ${recordsSql("x.run_id", "0", "x.seq")}
  ORDER BY ${chunkOf("j.seq")} DESC, j.seq DESC LIMIT 1)`;

/** Most decisions need rows of runs only. `read_rows` reads those itself, and calls `read_rows_all` for everything else. */
const READ_ROWS = `
CREATE FUNCTION @.read_rows(${ROWS_PARAMETERS}) RETURNS json LANGUAGE plpgsql STABLE ${INDEX_SCANS_ONLY} ${ONE_PLAN} AS $body$
DECLARE
  found json;
BEGIN
  IF p_known IS NULL AND p_topics IS NULL AND p_seen IS NULL AND p_floors IS NULL
      AND cardinality(p_inboxes || p_events || p_children || p_letters) = 0 THEN
    ${KNOWN_RUNS} INTO found FROM @.runs r WHERE r.id = ANY (p_runs);
    RETURN json_build_object('now', ${NOW_SQL}, 'runs', found);
  END IF;
  RETURN @.read_rows_all(p_now, p_runs, p_inboxes, p_known, p_topics, p_events, p_children, p_letters, p_seen, p_floors);
END $body$;
`;

/**
 * The rows that a decision needs, read in one call and from one state of the database. Waiters and children come with their runs.
 * Nothing is locked: the commit compares the `rev` of every row.
 */
const READ_ROWS_ALL = `
CREATE FUNCTION @.read_rows_all(${ROWS_PARAMETERS}) RETURNS json LANGUAGE plpgsql STABLE ${INDEX_SCANS_ONLY} AS $body$
DECLARE
  waiters json;
  children json;
  run_ids text[] := p_runs;
BEGIN
  IF p_topics IS NOT NULL THEN
    SELECT json_agg(json_build_array(w.topic, w.run_id) ORDER BY w.topic, w.position), run_ids || array_agg(w.run_id)
      INTO waiters, run_ids
      FROM json_to_recordset(p_topics) AS x(topic text, depth bigint), LATERAL (
        SELECT * FROM @.waiters q WHERE q.topic = x.topic ORDER BY q.position LIMIT x.depth) AS w;
    run_ids := coalesce(run_ids, p_runs);
  END IF;
  IF p_children IS NOT NULL THEN
    SELECT json_agg(json_build_array(c.parent_run, c.id) ORDER BY c.n), run_ids || array_agg(c.id) INTO children, run_ids
      FROM @.runs c WHERE c.parent_run = ANY (p_children) AND c.parent_on_close = 'cancel' AND c.ended_at IS NULL;
    run_ids := coalesce(run_ids, p_runs);
  END IF;
  RETURN json_build_object(
    'now', ${NOW_SQL},
    'runs', (${KNOWN_RUNS} FROM @.runs r WHERE r.id = ANY (run_ids)),
    'waiters', waiters,
    'children', children,
    'inboxes', (SELECT json_agg(${ENTRY_JSON} ORDER BY i.run_id, i.n) FROM @.inbox i WHERE i.run_id = ANY (p_inboxes)),
    'known', CASE WHEN p_known IS NULL THEN NULL ELSE (SELECT json_agg(json_build_array(k.run_id, k.kind, k.id))
      FROM json_to_recordset(p_known) AS x(run_id text, kind text, id text)
      JOIN @.inbox_ids k ON k.run_id = x.run_id AND k.kind = x.kind AND k.id = x.id) END,
    'topics', CASE WHEN p_topics IS NULL THEN NULL ELSE (SELECT json_agg(json_build_array(t.topic, t.rev, t.pending))
      FROM json_to_recordset(p_topics) AS x(topic text) JOIN @.topics t ON t.topic = x.topic) END,
    'pending', CASE WHEN p_topics IS NULL THEN NULL ELSE (SELECT json_agg(to_json(e) ORDER BY e.n)
      FROM json_to_recordset(p_topics) AS x(topic text, depth bigint), unnest(ARRAY['one', 'all']) AS c(consume), LATERAL (
        SELECT * FROM @.events q WHERE q.topic = x.topic AND q.consume = c.consume AND q.pending ORDER BY q.n LIMIT x.depth) AS e) END,
    'events', (SELECT json_agg(to_json(e)) FROM @.events e WHERE e.id = ANY (p_events)),
    'letters', (SELECT json_agg(to_json(l)) FROM @.letters l WHERE l.id = ANY (p_letters)),
    'seen', CASE WHEN p_seen IS NULL THEN NULL ELSE (SELECT json_agg(json_build_array(s.run_id, s.topic, s.n))
      FROM json_to_recordset(p_seen) AS x(run_id text, topic text)
      JOIN @.topics_seen s ON s.run_id = x.run_id AND s.topic = x.topic) END,
    'floors', CASE WHEN p_floors IS NULL THEN NULL ELSE (SELECT json_agg(json_build_array(x.run_id, x.seq,
        coalesce(${FLOOR_SEQ}, r.base_seq)))
      FROM json_to_recordset(p_floors) AS x(run_id text, seq integer) JOIN @.runs r ON r.id = x.run_id) END
  );
END $body$;
`;

const LOCK_ROWS = `
CREATE FUNCTION @.lock_rows(p_topics text[], p_runs text[]) RETURNS void LANGUAGE plpgsql ${INDEX_SCANS_ONLY} AS $body$
BEGIN
  INSERT INTO @.topics (topic, rev, pending) SELECT u.t, 0, 0 FROM unnest(p_topics) AS u(t) ORDER BY u.t ON CONFLICT DO NOTHING;
  PERFORM 1 FROM @.topics WHERE topic = ANY (p_topics) ORDER BY topic FOR UPDATE;
  PERFORM 1 FROM @.runs WHERE id = ANY (p_runs) ORDER BY id FOR UPDATE;
END $body$;
`;

/** `OFFSET 0` makes the planner evaluate the subquery once, instead of copying its expressions to every place that uses them. */
const loadedRow = (
  run: string,
  after: string,
  afterEntry: string,
): string => `(SELECT r.*, to_json(doc) AS snapshot, ${NEWEST_SEQ} AS newest,
    coalesce(${after}, doc.a::bigint, r.base_seq) AS after_seq,
    CASE WHEN ${afterEntry} = 0 OR (SELECT count(*) <= ${INBOX_CACHED_MAX} AND coalesce(sum(i.bytes), 0) <= ${INBOX_BYTES_MAX}
        FROM (SELECT pg_column_size(i.value) AS bytes FROM @.inbox i WHERE i.run_id = r.id LIMIT ${INBOX_CACHED_MAX + 1}) AS i)
      THEN 0 ELSE ${afterEntry} END AS after_entry
    FROM @.runs r LEFT JOIN @.documents doc ON doc.kind = 'snapshot' AND doc.id = r.id WHERE r.id = ${run} OFFSET 0) AS r`;

/** A small inbox is returned as a whole, so that the store can cache it. */
const LOADED_JSON = `json_build_object('run', ${RUN_JSON}, 'snapshot', r.snapshot, 'newest', r.newest,
  'records', CASE WHEN r.newest > r.after_seq THEN (SELECT json_agg(${RECORD_JSON} ORDER BY j.seq) FROM @.journal j
    WHERE ${recordsSql("r.id", "(r.after_seq + 1)")}) END,
  'after_entry', r.after_entry, 'inbox', CASE WHEN r.inbox_last > r.after_entry THEN (SELECT json_agg(${ENTRY_JSON} ORDER BY i.n)
    FROM @.inbox i WHERE i.run_id = r.id AND i.n > r.after_entry) END)`;

const LOAD_RUN = `SELECT (${LOADED_JSON})::text FROM ${loadedRow("p_run", "p_after", "p_entry")}`;

/** In the order of `p_runs`: null for a run that does not exist, true for a run that is too long and must be loaded alone. */
const LOAD_RUNS = `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN r.newest - r.after_seq > p_records THEN 'true'
      ELSE (SELECT CASE WHEN octet_length(l.loaded) > p_bytes THEN 'true' ELSE l.loaded END
        FROM (SELECT ${LOADED_JSON}::text AS loaded OFFSET 0) AS l) END
    FROM ${loadedRow("u.id", "u.after_seq", "u.after_entry")}), 'null'), ',' ORDER BY u.position) || ']'
    FROM unnest(p_runs, p_after, p_entries) WITH ORDINALITY AS u(id, after_seq, after_entry, position)`;

const READ_RUN = `SELECT (${RUN_JSON})::text FROM @.runs r WHERE r.id = p_run`;

/** As `LOAD_RUNS`. */
const READ_RUNS = `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN octet_length(l.found) > p_bytes THEN 'true' ELSE l.found END
    FROM (SELECT ${RUN_JSON}::text AS found FROM @.runs r WHERE r.id = u.id OFFSET 0) AS l), 'null'), ',' ORDER BY u.position) || ']'
    FROM unnest(p_runs) WITH ORDINALITY AS u(id, position)`;

function queryFunction(signature: string, query: string): string {
  return `
CREATE FUNCTION @.${signature} RETURNS text LANGUAGE plpgsql STABLE ${INDEX_SCANS_ONLY} ${ONE_PLAN} AS $body$
BEGIN
  RETURN (${query});
END $body$;
`;
}

export const READS_SQL = [
  READ_ROWS,
  READ_ROWS_ALL,
  LOCK_ROWS,
  queryFunction("load_run(p_run text, p_after bigint, p_entry bigint)", LOAD_RUN),
  queryFunction(
    "load_runs(p_runs text[], p_after bigint[], p_entries bigint[], p_records bigint, p_bytes bigint)",
    LOAD_RUNS,
  ),
  queryFunction("read_run(p_run text)", READ_RUN),
  queryFunction("read_runs(p_runs text[], p_bytes bigint)", READ_RUNS),
].join("");
