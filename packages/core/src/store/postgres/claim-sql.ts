import { NEWEST_IN_CHUNKS } from "./chunks-sql.ts";
import { NEWEST_SEQ, NOW_SQL, RUN_JSON } from "./run-json.ts";

/** From this many claims on, a run is in the index of suspects. */
const SUSPECT_LEAST = 2;

/** Those that were claimed often, of each workflow. */
function suspectsSql(order: string, known = ""): string {
  return `    SELECT array_agg(c.id) INTO suspects FROM unnest(p_workflows, p_versions) AS w(name, version), LATERAL (
      SELECT r.id FROM @.runs r WHERE r.workflow = w.name AND r.version = w.version AND r.owner IS NULL AND r.wake_at <= present
        AND r.claims >= p_suspect_claims${known} ORDER BY ${order} LIMIT p_suspects_max FOR UPDATE SKIP LOCKED) AS c;`;
}

/** They have an index of their own, which is used where the statement says that they fit it. Else all that is due is looked at. */
function knownSuspectsSql(order: string): string {
  return `    IF p_suspect_claims >= ${SUSPECT_LEAST} THEN
  ${suspectsSql(order, ` AND r.claims >= ${SUSPECT_LEAST}`)}
    ELSE
  ${suspectsSql(order)}
    END IF;`;
}

/**
 * In one order or the other, with no more suspects than asked for. Runs that another worker is claiming at the same time are
 * passed by. The worker's row is locked before the runs, as whoever takes a worker for dead does.
 */
export function claimSql(
  name: string,
  first: "longest" | "newest",
  suspects: "sought" | "known",
  newest = NEWEST_SEQ,
): string {
  const order = first === "longest" ? "r.wake_at, r.n" : "r.wake_at DESC, r.n DESC";
  return `
CREATE FUNCTION @.${name}(p_now bigint, p_worker text, p_limit bigint, p_workflows text[], p_versions integer[],
  p_suspect_claims integer, p_suspects_max bigint) RETURNS json LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  present bigint := ${NOW_SQL};
  chosen text[];
  suspects text[];
  claimed json;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM unnest(p_workflows, p_versions) AS w(name, version)
      WHERE EXISTS (SELECT 1 FROM @.runs r WHERE r.workflow = w.name AND r.version = w.version AND r.owner IS NULL
        AND r.wake_at <= present)) THEN
    RETURN NULL;
  END IF;
  INSERT INTO @.workers (id, expires_at) VALUES (p_worker, 0) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM @.workers WHERE id = p_worker FOR KEY SHARE;
  SELECT array_agg(c.id) INTO chosen FROM unnest(p_workflows, p_versions) AS w(name, version), LATERAL (
    SELECT r.id FROM @.runs r WHERE r.workflow = w.name AND r.version = w.version AND r.owner IS NULL AND r.wake_at <= present
      AND r.claims < p_suspect_claims ORDER BY ${order} LIMIT p_limit FOR UPDATE SKIP LOCKED) AS c;
  IF p_suspects_max > 0 THEN
${suspects === "sought" ? suspectsSql(order) : knownSuspectsSql(order)}
    suspects := ARRAY(SELECT r.id FROM @.runs r WHERE r.id = ANY (suspects) ORDER BY ${order} LIMIT p_suspects_max);
  END IF;
  chosen := ARRAY(SELECT r.id FROM @.runs r WHERE r.id = ANY (chosen || suspects) ORDER BY ${order} LIMIT p_limit);
  WITH taken AS (
    UPDATE @.runs r SET rev = r.rev + 1, status = CASE WHEN r.undo = 'underWay' THEN 'compensating' ELSE 'running' END,
        wait = CASE WHEN r.undo = 'underWay' THEN NULL ELSE r.wait END, epoch = r.epoch + 1, turn = 0, owner = p_worker, wake_at = NULL,
        claims = CASE WHEN x.newest > r.claim_seq THEN 1 ELSE r.claims + 1 END, claim_seq = x.newest,
        started_at = coalesce(r.started_at, present)
      FROM (SELECT r.id, ${newest} AS newest FROM @.runs r WHERE r.id = ANY (chosen)) AS x
      WHERE r.id = x.id RETURNING r.*)
    SELECT json_agg(${RUN_JSON} ORDER BY array_position(chosen, r.id)) INTO claimed FROM taken r;
  RETURN claimed;
END $body$;
`;
}

/** What became due a moment ago, where so much is due that it would be late. */
export const CLAIM_NEWEST_SQL = claimSql("claim_newest_3", "newest", "sought");

/** Where very many runs are due at one time, a claim looks at no more of them than it takes. */
export const CLAIM_OF_MANY_SQL = `
CREATE INDEX runs_free_n ON @.runs (workflow, version, wake_at, n) WHERE owner IS NULL AND wake_at IS NOT NULL;
CREATE INDEX runs_suspect ON @.runs (workflow, version, wake_at, n)
  WHERE owner IS NULL AND wake_at IS NOT NULL AND claims >= ${SUSPECT_LEAST};
DROP INDEX @.runs_free;
${claimSql("claim_4", "longest", "known")}${claimSql("claim_newest_4", "newest", "known")}`;

export const CLAIM_CHUNKS_SQL = `${claimSql("claim_10", "longest", "known", NEWEST_IN_CHUNKS)}${claimSql(
  "claim_newest_10",
  "newest",
  "known",
  NEWEST_IN_CHUNKS,
)}`;
