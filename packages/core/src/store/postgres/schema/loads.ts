import { afterSeq, ENTRY_JSON, LOADED_FROM, RECORD_JSON, reading } from "./reads.ts";
import { NEWEST_IN_CHUNKS, NEWEST_SEQ, RUN_JSON, recordsSql } from "./row-json.ts";

/**
 * Reads of runs that say all that a commit has to know of them. What is worked out in a subquery is worked out once: `OFFSET 0`
 * keeps the planner from putting it wherever it is named.
 */

interface JournalReads {
  /** The newest seq of a run `r`. */
  readonly newest: string;
  /** Which records of `j` come after those that were seen of `r`. */
  readonly after: string;
}

const loadedRow = (run: string, seen: string, newest: string): string => `(SELECT r.*, to_json(doc) AS snapshot,
    ${newest} AS newest, ${afterSeq(seen)} AS after_seq FROM ${LOADED_FROM} WHERE r.id = ${run} OFFSET 0) AS r`;

const loadedJson = (
  after: string,
): string => `json_build_object('run', ${RUN_JSON}, 'snapshot', r.snapshot, 'newest', r.newest,
  'records', CASE WHEN r.newest > r.after_seq THEN (SELECT json_agg(${RECORD_JSON} ORDER BY j.seq) FROM @.journal j
    WHERE ${after}) END,
  'inbox', CASE WHEN r.inbox_last > 0 THEN (SELECT json_agg(${ENTRY_JSON} ORDER BY i.n) FROM @.inbox i WHERE i.run_id = r.id) END)`;

const load = ({ newest, after }: JournalReads): string =>
  `SELECT (${loadedJson(after)})::text FROM ${loadedRow("p_run", "p_after", newest)}`;

/** Several at once, in the order of their ids. One that is long stands as true: it is read by itself. */
const loadMany = ({
  newest,
  after,
}: JournalReads): string => `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN r.newest - r.after_seq > p_records THEN 'true'
      ELSE (SELECT CASE WHEN octet_length(l.loaded) > p_bytes THEN 'true' ELSE l.loaded END
        FROM (SELECT ${loadedJson(after)}::text AS loaded OFFSET 0) AS l) END
    FROM ${loadedRow("u.id", "u.after_seq", newest)}), 'null'), ',' ORDER BY u.place) || ']'
    FROM unnest(p_runs, p_after) WITH ORDINALITY AS u(id, after_seq, place)`;

const RUN_MANY = `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN octet_length(l.found) > p_bytes THEN 'true' ELSE l.found END
    FROM (SELECT ${RUN_JSON}::text AS found FROM @.runs r WHERE r.id = u.id OFFSET 0) AS l), 'null'), ',' ORDER BY u.place) || ']'
    FROM unnest(p_runs) WITH ORDINALITY AS u(id, place)`;

const loadingSql = (version: number, reads: JournalReads): string =>
  reading(`load_${version}(p_run text, p_after bigint)`, load(reads)) +
  reading(`load_many_${version}(p_runs text[], p_after bigint[], p_records bigint, p_bytes bigint)`, loadMany(reads));

const RECORDS: JournalReads = { newest: NEWEST_SEQ, after: "j.run_id = r.id AND j.seq > r.after_seq" };
const CHUNKS: JournalReads = { newest: NEWEST_IN_CHUNKS, after: recordsSql("r.id", "(r.after_seq + 1)") };

export const LOADING_SQL = loadingSql(9, RECORDS) + reading("run_many_9(p_runs text[], p_bytes bigint)", RUN_MANY);

export const LOADING_CHUNKS_SQL = loadingSql(10, CHUNKS);
