import { PLAN } from "./commit.ts";
import { HEAD_VALUES, NEWEST_SEQ, NOW_SQL, RUN_JSON } from "./row-json.ts";

/** How a journal is read: the newest seq of a run `r`, and the newest up to one of `x`. */
export interface JournalReads {
  readonly newest: string;
  readonly floor: string;
}

/**
 * What a decision needs to know, read in one call and one state of the database. Waiters and children come with their runs.
 * Nothing is locked: who writes says what it saw.
 */
export const rowsSql = (name: string, { newest, floor }: JournalReads): string => `
CREATE FUNCTION @.${name}(p_now bigint, p_runs text[], p_inboxes text[], p_known json, p_topics json, p_events text[],
  p_children text[], p_letters text[], p_seen json, p_floors json) RETURNS json LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $body$
DECLARE
  waiters json;
  children json;
  run_ids text[] := p_runs;
BEGIN
  IF p_topics IS NOT NULL THEN
    SELECT json_agg(json_build_array(w.topic, w.run_id) ORDER BY w.topic, w.place), run_ids || array_agg(w.run_id)
      INTO waiters, run_ids
      FROM json_to_recordset(p_topics) AS x(topic text, depth bigint), LATERAL (
        SELECT * FROM @.waiters q WHERE q.topic = x.topic ORDER BY q.place LIMIT x.depth) AS w;
    run_ids := coalesce(run_ids, p_runs);
  END IF;
  IF p_children IS NOT NULL THEN
    SELECT json_agg(json_build_array(c.parent_run, c.id) ORDER BY c.n), run_ids || array_agg(c.id) INTO children, run_ids
      FROM @.runs c WHERE c.parent_run = ANY (p_children) AND c.parent_on_close = 'cancel' AND c.ended_at IS NULL;
    run_ids := coalesce(run_ids, p_runs);
  END IF;
  RETURN json_build_object(
    'now', ${NOW_SQL},
    'runs', (SELECT json_agg(json_build_array(${HEAD_VALUES}, r.wait, ${newest})) FROM @.runs r WHERE r.id = ANY (run_ids)),
    'waiters', waiters,
    'children', children,
    'inboxes', (SELECT json_agg(json_build_array(i.run_id, i.n, i.kind, i.id, i.name, i.value, i.status, i.at, i.policy)
      ORDER BY i.run_id, i.n) FROM @.inbox i WHERE i.run_id = ANY (p_inboxes)),
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
        coalesce(${floor}, r.base_seq)))
      FROM json_to_recordset(p_floors) AS x(run_id text, seq integer) JOIN @.runs r ON r.id = x.run_id) END
  );
END $body$;
`;

const LOCK = `
CREATE FUNCTION @.lock_1(p_topics text[], p_runs text[]) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $body$
BEGIN
  INSERT INTO @.topics (topic, rev, pending) SELECT u.t, 0, 0 FROM unnest(p_topics) AS u(t) ORDER BY u.t ON CONFLICT DO NOTHING;
  PERFORM 1 FROM @.topics WHERE topic = ANY (p_topics) ORDER BY topic FOR UPDATE;
  PERFORM 1 FROM @.runs WHERE id = ANY (p_runs) ORDER BY id FOR UPDATE;
END $body$;
`;

export const ROWS_SQL = `${rowsSql("rows_1", {
  newest: NEWEST_SEQ,
  floor: "(SELECT max(j.seq) FROM @.journal j WHERE j.run_id = x.run_id AND j.seq <= x.seq)",
})}${LOCK}`;

/**
 * Reads that are made again and again, as functions: a connection plans them once, where a statement that is sent whole is
 * planned each time, which takes longer than to do it.
 */

export const RECORD_JSON =
  "json_build_array(j.seq, j.location, j.kind, j.outcome, j.payload, j.attempts, j.started_at, j.at, j.detail)";

export const ENTRY_JSON = "json_build_array(i.run_id, i.n, i.kind, i.id, i.name, i.value, i.status, i.at, i.policy)";

export const LOADED_FROM = "@.runs r LEFT JOIN @.documents doc ON doc.kind = 'snapshot' AND doc.id = r.id";

/** The seq after which records are read, where the caller has seen none. */
export const afterSeq = (seen: string): string => `coalesce(${seen}, doc.a::bigint, r.base_seq)`;

const loadedJson = (seen: string): string => `json_build_object('run', ${RUN_JSON}, 'snapshot', to_json(doc),
  'records', (SELECT json_agg(${RECORD_JSON} ORDER BY j.seq) FROM @.journal j
    WHERE j.run_id = r.id AND j.seq > ${afterSeq(seen)}),
  'inbox', CASE WHEN r.inbox_last = 0 THEN NULL
    ELSE (SELECT json_agg(${ENTRY_JSON} ORDER BY i.n) FROM @.inbox i WHERE i.run_id = r.id) END)`;

const LOAD = `SELECT (${loadedJson("p_after")})::text FROM ${LOADED_FROM} WHERE r.id = p_run`;

/** Several at once, in the order of their ids. One that is long stands as true: it is read by itself. */
const LOAD_MANY = `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN ${NEWEST_SEQ} - ${afterSeq("u.after_seq")} > p_records THEN 'true'
      ELSE (SELECT CASE WHEN octet_length(l.loaded) > p_bytes THEN 'true' ELSE l.loaded END
        FROM (SELECT ${loadedJson("u.after_seq")}::text AS loaded) AS l) END
    FROM ${LOADED_FROM} WHERE r.id = u.id), 'null'), ',' ORDER BY u.place) || ']'
    FROM unnest(p_runs, p_after) WITH ORDINALITY AS u(id, after_seq, place)`;

const RUN = `SELECT (${RUN_JSON})::text FROM @.runs r WHERE r.id = p_run`;

const RUN_MANY = `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN octet_length(l.found) > p_bytes THEN 'true' ELSE l.found END
    FROM (SELECT ${RUN_JSON}::text AS found FROM @.runs r WHERE r.id = u.id) AS l), 'null'), ',' ORDER BY u.place) || ']'
    FROM unnest(p_runs) WITH ORDINALITY AS u(id, place)`;

export function reading(signature: string, query: string): string {
  return `
CREATE FUNCTION @.${signature} RETURNS text LANGUAGE plpgsql STABLE ${PLAN} AS $body$
BEGIN
  RETURN (${query});
END $body$;
`;
}

/** What a decision needs to know: mostly nothing but rows of runs, for which `all` looks at too much. */
export const fewRowsSql = (name: string, all: string, newest: string): string => `
CREATE FUNCTION @.${name}(p_now bigint, p_runs text[], p_inboxes text[], p_known json, p_topics json, p_events text[],
  p_children text[], p_letters text[], p_seen json, p_floors json) RETURNS json LANGUAGE plpgsql STABLE ${PLAN} AS $body$
DECLARE
  found json;
BEGIN
  IF p_known IS NULL AND p_topics IS NULL AND p_seen IS NULL AND p_floors IS NULL
      AND cardinality(p_inboxes || p_events || p_children || p_letters) = 0 THEN
    SELECT json_agg(json_build_array(${HEAD_VALUES}, r.wait, ${newest})) INTO found FROM @.runs r WHERE r.id = ANY (p_runs);
    RETURN json_build_object('now', ${NOW_SQL}, 'runs', found);
  END IF;
  RETURN @.${all}(p_now, p_runs, p_inboxes, p_known, p_topics, p_events, p_children, p_letters, p_seen, p_floors);
END $body$;
`;

export const READING_SQL = [
  reading("load_8(p_run text, p_after bigint)", LOAD),
  reading("load_many_8(p_runs text[], p_after bigint[], p_records bigint, p_bytes bigint)", LOAD_MANY),
  reading("run_8(p_run text)", RUN),
  reading("run_many_8(p_runs text[], p_bytes bigint)", RUN_MANY),
  fewRowsSql("rows_8", "rows_1", NEWEST_SEQ),
].join("");
