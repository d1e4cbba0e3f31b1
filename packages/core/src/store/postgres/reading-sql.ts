import { PLAN } from "./commit-sql.ts";
import { HEAD_VALUES, NEWEST_SEQ, NOW_SQL, RUN_JSON } from "./run-json.ts";

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
