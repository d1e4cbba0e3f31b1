import { heldSql, nextDueSql } from "./beat-sql.ts";
import { NEWEST_SEQ, RUN_JSON } from "./run-json.ts";

/** Statements of the store that are no functions of the database. Each answers with one value, the column `json`. */

const PRESENT = "coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

const RECORD_JSON =
  "json_build_array(j.seq, j.location, j.kind, j.outcome, j.payload, j.attempts, j.started_at, j.at, j.detail)";

const ENTRY_JSON = "json_build_array(i.run_id, i.n, i.kind, i.id, i.name, i.value, i.status, i.at, i.policy)";

const LOADED_FROM = "@.runs r LEFT JOIN @.documents doc ON doc.kind = 'snapshot' AND doc.id = r.id";

/** The seq after which records are read, where the caller has seen none. */
const afterSeq = (seen: string): string => `coalesce(${seen}, doc.a::bigint, r.base_seq)`;

const loadedJson = (seen: string): string => `json_build_object('run', ${RUN_JSON}, 'snapshot', to_json(doc),
  'records', (SELECT json_agg(${RECORD_JSON} ORDER BY j.seq) FROM @.journal j
    WHERE j.run_id = r.id AND j.seq > ${afterSeq(seen)}),
  'inbox', CASE WHEN r.inbox_last = 0 THEN NULL
    ELSE (SELECT json_agg(${ENTRY_JSON} ORDER BY i.n) FROM @.inbox i WHERE i.run_id = r.id) END)`;

export const STORE_SQL = {
  greet: `SELECT json_build_object('now', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    'name', nextval('@.places')::text)::text AS json`,
  claim: "SELECT @.claim_4($1, $2, $3, $4, $5, coalesce($6, 2147483647), coalesce($7, 0))::text AS json",
  claimNewest: "SELECT @.claim_newest_4($1, $2, $3, $4, $5, coalesce($6, 2147483647), coalesce($7, 0))::text AS json",
  beat: "SELECT @.beat_5($1, $2, $3, $4, $5, $6, $7)::text AS json",
  retire: "SELECT @.retire_1($1, $2)::text AS json",
  prune: "SELECT @.prune_1($1, $2, $3, $4, $5)::text AS json",
  due: `SELECT json_agg(json_build_array(r.id, r.inbox_last) ORDER BY r.wake_at, r.n)::text AS json FROM (
    SELECT * FROM @.runs q WHERE q.owner = $2 AND q.wake_at <= ${PRESENT} ORDER BY q.wake_at, q.n LIMIT $3) AS r`,
  held: `SELECT (${heldSql("$1")})::text AS json`,
  nextDueAt: `SELECT (${nextDueSql("$1", "$2::text[], $3::integer[]")})::text AS json`,
  expired: `SELECT json_agg(e.id)::text AS json FROM (SELECT q.id FROM @.events q WHERE q.pending AND q.expire_at <= ${PRESENT}
    ORDER BY q.expire_at, q.n LIMIT $2) AS e`,
  load: `SELECT (SELECT ${loadedJson("$2::bigint")} FROM ${LOADED_FROM} WHERE r.id = $1)::text AS json`,
  /** Several at once, in the order of their ids. One that is long stands as true: it is read by itself. */
  loadMany: `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN ${NEWEST_SEQ} - ${afterSeq("u.after_seq")} > $3 THEN 'true'
      ELSE (SELECT CASE WHEN octet_length(l.loaded) > $4 THEN 'true' ELSE l.loaded END
        FROM (SELECT ${loadedJson("u.after_seq")}::text AS loaded) AS l) END
    FROM ${LOADED_FROM} WHERE r.id = u.id), 'null'), ',' ORDER BY u.place) || ']' AS json
    FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS u(id, after_seq, place)`,
  run: `SELECT (SELECT ${RUN_JSON} FROM @.runs r WHERE r.id = $1)::text AS json`,
  runs: `SELECT '[' || string_agg(coalesce((SELECT CASE WHEN octet_length(l.found) > $2 THEN 'true' ELSE l.found END
    FROM (SELECT ${RUN_JSON}::text AS found FROM @.runs r WHERE r.id = u.id) AS l), 'null'), ',' ORDER BY u.place) || ']' AS json
    FROM unnest($1::text[]) WITH ORDINALITY AS u(id, place)`,
  journal: `SELECT json_agg(${RECORD_JSON} ORDER BY j.seq)::text AS json FROM (SELECT * FROM @.journal q
    WHERE q.run_id = $1 AND q.seq > $2 ORDER BY q.seq LIMIT $3) AS j`,
  journalDown: `SELECT json_agg(${RECORD_JSON} ORDER BY j.seq DESC)::text AS json FROM (SELECT * FROM @.journal q
    WHERE q.run_id = $1 AND q.seq > $2 ORDER BY q.seq DESC LIMIT $3) AS j`,
  inbox: `SELECT json_agg(${ENTRY_JSON} ORDER BY i.n)::text AS json FROM @.inbox i WHERE i.run_id = $1`,
  letters: `SELECT json_agg(to_json(l) ORDER BY l.n DESC)::text AS json FROM (SELECT * FROM @.letters q WHERE q.n < $1
    ORDER BY q.n DESC LIMIT $2) AS l`,
  letter: "SELECT (SELECT to_json(l) FROM @.letters l WHERE l.id = $1)::text AS json",
  documentsOf: `SELECT json_agg(to_json(doc))::text AS json FROM unnest($1::text[], $2::text[]) AS x(kind, id)
    JOIN @.documents doc ON doc.kind = x.kind AND doc.id = x.id`,
  document: "SELECT (SELECT to_json(doc) FROM @.documents doc WHERE doc.kind = $1 AND doc.id = $2)::text AS json",
  documents: `SELECT json_agg(to_json(doc) ORDER BY doc.id)::text AS json FROM (SELECT * FROM @.documents q
    WHERE q.kind = $1 AND ($2::text IS NULL OR q.id > $2) AND ($3::text IS NULL OR q.a = $3) AND ($4::text IS NULL OR q.b = $4)
      AND ($5::text IS NULL OR q.c = $5) AND ($6::text IS NULL OR q.d = $6)
    ORDER BY q.id LIMIT $7) AS doc`,
  workers:
    "SELECT json_agg(json_build_array(w.id, w.expires_at, w.workflows) ORDER BY w.id)::text AS json FROM @.workers w",
} as const;
