import { nextDueSql, ownedSql } from "./schema/ownership.ts";
import { ENTRY_JSON, RECORD_JSON } from "./schema/reads.ts";
import { chunkOf } from "./schema/row-json.ts";

/** The statements of the store. Each returns one value, the column `json`. */

/** A subquery, because the server uses no index for a comparison with a volatile function. */
const PRESENT = "(SELECT coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint))";

const RECORDS_AFTER = `q.run_id = $1 AND ${chunkOf("q.seq")} >= ${chunkOf("$2::bigint")} AND q.seq > $2`;

export const STORE_SQL = {
  open: `SELECT json_build_object('now', floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    'name', nextval('@.positions')::text)::text AS json`,
  now: "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::text AS json",
  claim: "SELECT @.claim($1, $2, $3, $4, $5, $6, $7, $8, $9)::text AS json",
  claimNewest: "SELECT @.claim_newest($1, $2, $3, $4, $5, $6, $7, $8, $9)::text AS json",
  heartbeat: `SELECT json_build_array(@.heartbeat($1, $2, $3, $4, $5, $6, $7, $8, $9, $10),
    (SELECT max(m.compatible_from) FROM @.migrations m))::text AS json`,
  retire: "SELECT @.retire($1, $2)::text AS json",
  prune: "SELECT @.prune($1, $2, $3, $4, $5)::text AS json",
  pruneOne: `WITH gone AS (SELECT r.id FROM @.runs r
      WHERE r.id = $1 AND r.ended_at < $2 AND r.status = ANY ($3::text[])
        AND NOT EXISTS (SELECT 1 FROM @.runs c WHERE c.parent_run = r.id)
        AND (r.parent_run IS NULL OR NOT EXISTS (
          WITH RECURSIVE above AS (
            SELECT p.id, p.ended_at, p.parent_run, p.created_at FROM @.runs p
              WHERE p.id = r.parent_run AND r.created_at >= coalesce(p.started_at, 0)
            UNION ALL
            SELECT p.id, p.ended_at, p.parent_run, p.created_at FROM above a JOIN @.runs p ON p.id = a.parent_run
              WHERE a.ended_at IS NOT NULL AND a.created_at >= coalesce(p.started_at, 0))
          SELECT 1 FROM above WHERE ended_at IS NULL)) FOR UPDATE),
    j AS (DELETE FROM @.journal q USING gone WHERE q.run_id = gone.id),
    i AS (DELETE FROM @.inbox q USING gone WHERE q.run_id = gone.id),
    k AS (DELETE FROM @.inbox_ids q USING gone WHERE q.run_id = gone.id),
    t AS (DELETE FROM @.topics_seen q USING gone WHERE q.run_id = gone.id),
    g AS (DELETE FROM @.tags q USING gone WHERE q.run_id = gone.id),
    d AS (DELETE FROM @.documents q USING gone WHERE q.run_id = gone.id),
    r AS (DELETE FROM @.runs q USING gone WHERE q.id = gone.id RETURNING 1)
    SELECT (SELECT count(*) FROM r)::text AS json`,
  due: `SELECT json_agg(json_build_array(r.id, r.inbox_last) ORDER BY r.wake_at, r.n)::text AS json FROM (
    SELECT * FROM @.runs q WHERE q.owner = $2 AND q.wake_at <= ${PRESENT} ORDER BY q.wake_at, q.n LIMIT $3) AS r`,
  owned: `SELECT (${ownedSql("$1")})::text AS json`,
  nextDueAt: `SELECT (${nextDueSql("$1", "$2::text[], $3::integer[]")})::text AS json`,
  expired: `SELECT json_agg(e.id)::text AS json FROM (SELECT q.id FROM @.events q WHERE q.pending AND q.expire_at <= ${PRESENT}
    ORDER BY q.expire_at, q.n LIMIT $2) AS e`,
  load: "SELECT @.load_run($1, $2, $3) AS json",
  loadMany: "SELECT @.load_runs($1, $2, $3, $4, $5) AS json",
  run: "SELECT @.read_run($1) AS json",
  runs: "SELECT @.read_runs($1, $2) AS json",
  journal: `SELECT json_agg(${RECORD_JSON} ORDER BY j.seq)::text AS json FROM (SELECT * FROM @.journal q
    WHERE ${RECORDS_AFTER} ORDER BY ${chunkOf("q.seq")}, q.seq LIMIT $3) AS j`,
  journalDown: `SELECT json_agg(${RECORD_JSON} ORDER BY j.seq DESC)::text AS json FROM (SELECT * FROM @.journal q
    WHERE ${RECORDS_AFTER} ORDER BY ${chunkOf("q.seq")} DESC, q.seq DESC LIMIT $3) AS j`,
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
