import { afterSeq, ENTRY_JSON, LOADED_FROM, RECORD_JSON, reading } from "./reading-sql.ts";
import { NEWEST_SEQ, RUN_JSON } from "./run-json.ts";

/**
 * Reads of runs that say all that a commit has to know of them. What is worked out in a subquery is worked out once: `OFFSET 0`
 * keeps the planner from putting it wherever it is named.
 */

const loadedRow = (
  run: string,
  seen: string,
): string => `(SELECT r.*, to_json(doc) AS snapshot, ${NEWEST_SEQ} AS newest,
    ${afterSeq(seen)} AS after_seq FROM ${LOADED_FROM} WHERE r.id = ${run} OFFSET 0) AS r`;

const LOADED_JSON = `json_build_object('run', ${RUN_JSON}, 'snapshot', r.snapshot, 'newest', r.newest,
  'records', CASE WHEN r.newest > r.after_seq THEN (SELECT json_agg(${RECORD_JSON} ORDER BY j.seq) FROM @.journal j
    WHERE j.run_id = r.id AND j.seq > r.after_seq) END,
  'inbox', CASE WHEN r.inbox_last > 0 THEN (SELECT json_agg(${ENTRY_JSON} ORDER BY i.n) FROM @.inbox i WHERE i.run_id = r.id) END)`;

const LOAD = `SELECT (${LOADED_JSON})::text FROM ${loadedRow("p_run", "p_after")}`;

/** Several at once, in the order of their ids. One that is long stands as true: it is read by itself. */
const LOAD_MANY = `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN r.newest - r.after_seq > p_records THEN 'true'
      ELSE (SELECT CASE WHEN octet_length(l.loaded) > p_bytes THEN 'true' ELSE l.loaded END
        FROM (SELECT ${LOADED_JSON}::text AS loaded OFFSET 0) AS l) END
    FROM ${loadedRow("u.id", "u.after_seq")}), 'null'), ',' ORDER BY u.place) || ']'
    FROM unnest(p_runs, p_after) WITH ORDINALITY AS u(id, after_seq, place)`;

const RUN_MANY = `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN octet_length(l.found) > p_bytes THEN 'true' ELSE l.found END
    FROM (SELECT ${RUN_JSON}::text AS found FROM @.runs r WHERE r.id = u.id OFFSET 0) AS l), 'null'), ',' ORDER BY u.place) || ']'
    FROM unnest(p_runs) WITH ORDINALITY AS u(id, place)`;

export const LOADING_SQL = [
  reading("load_9(p_run text, p_after bigint)", LOAD),
  reading("load_many_9(p_runs text[], p_after bigint[], p_records bigint, p_bytes bigint)", LOAD_MANY),
  reading("run_many_9(p_runs text[], p_bytes bigint)", RUN_MANY),
].join("");
