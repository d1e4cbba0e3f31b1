import { INDEX_SCANS_ONLY } from "./planner-settings.ts";
import { NEWEST_SEQ, NOW_SQL, RUN_JSON } from "./row-json.ts";
import { SUSPECT_CLAIMS_MIN } from "./tables.ts";

/** Functions that move runs from one owner to another: claims, heartbeats, retirement. */

/** The `running` runs of a worker, with their epochs. `worker` is how the surrounding statement names it. */
export function ownedSql(worker: string): string {
  return `SELECT json_agg(json_build_array(r.id, r.epoch) ORDER BY r.n) FROM @.runs r
    WHERE r.owner = ${worker} AND (r.status = 'running' OR r.status = 'compensating' AND r.wait IS NULL)`;
}

/** When the next run is due that the worker owns or can claim. One index lookup per version of a workflow, however many runs wait. */
export function nextDueSql(worker: string, workflows: string): string {
  return `SELECT least((SELECT min(r.wake_at) FROM @.runs r WHERE r.owner = ${worker}),
    (SELECT min(f.at) FROM unnest(${workflows}) AS w(name, version), LATERAL (SELECT min(r.wake_at) AS at FROM @.runs r
      WHERE r.workflow = w.name AND r.version = w.version AND r.owner IS NULL AND r.wake_at IS NOT NULL) AS f))`;
}

/**
 * A suspended run keeps its wake-up time. Any other run becomes due now, so that another worker claims it. The epoch stays: until then the
 * last owner may append to the run.
 */
const releaseSql = (name: string, lock: string): string => `
CREATE FUNCTION @.${name}(p_now bigint, p_worker text, p_limit bigint) RETURNS bigint LANGUAGE plpgsql ${INDEX_SCANS_ONLY} AS $body$
DECLARE
  released bigint;
BEGIN
  WITH mine AS (SELECT r.id FROM @.runs r
      WHERE r.id IN (SELECT q.id FROM @.runs q WHERE q.owner = p_worker LIMIT p_limit) AND r.owner = p_worker
      ORDER BY r.id ${lock})
    UPDATE @.runs r SET rev = r.rev + 1, owner = NULL,
        claims = CASE WHEN r.claims > 0 AND ${NEWEST_SEQ} > r.claim_seq THEN 0 ELSE r.claims END,
        wake_at = CASE WHEN r.status = 'suspended' OR r.status = 'compensating' AND r.wait IS NOT NULL OR r.ended_at IS NOT NULL
          THEN r.wake_at ELSE p_now END
      FROM mine WHERE r.id = mine.id;
  GET DIAGNOSTICS released = ROW_COUNT;
  RETURN released;
END $body$;
`;

/**
 * A worker's row may be deleted between the moment at which its own claim or commit finds the row and the moment at which it locks it.
 * Its runs would then have an owner whose lease never expires. So each heartbeat finds owners without a row, with one index lookup per
 * owner, and inserts an expired row for each.
 */
const INSERT_MISSING_OWNERS = `
  INSERT INTO @.workers (id, expires_at)
    WITH RECURSIVE owners(id) AS (
      SELECT min(r.owner) FROM @.runs r WHERE r.owner IS NOT NULL
      UNION ALL
      SELECT (SELECT min(r.owner) FROM @.runs r WHERE r.owner > o.id) FROM owners o WHERE o.id IS NOT NULL)
    SELECT o.id, 0 FROM owners o WHERE o.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @.workers w WHERE w.id = o.id)
    ORDER BY o.id ON CONFLICT DO NOTHING;`;

/**
 * Makes the worker the owner of its runs again, in the same epoch, if they were freed and not claimed since. A claim of a run that did not
 * cause the lapse is not counted.
 */
const TAKE_BACK = `
  IF p_lapsed IS NOT NULL THEN
    WITH lapsed AS (
      SELECT r.id, r.epoch = x.epoch AS is_same, x.is_blameless
        FROM unnest(p_lapsed, p_epochs, p_blameless) AS x(id, epoch, is_blameless) JOIN @.runs r ON r.id = x.id
        WHERE r.ended_at IS NULL AND CASE WHEN r.epoch = x.epoch
          THEN r.owner IS NULL AND (r.status = 'running' OR r.status = 'compensating' AND r.wait IS NULL)
          ELSE r.epoch > x.epoch AND x.is_blameless AND r.claims > 0 END
        ORDER BY r.id FOR UPDATE OF r SKIP LOCKED)
      UPDATE @.runs r SET rev = r.rev + 1, owner = CASE WHEN x.is_same THEN p_worker ELSE r.owner END,
          wake_at = CASE WHEN x.is_same THEN NULL ELSE r.wake_at END, claims = CASE WHEN x.is_same THEN r.claims ELSE r.claims - 1 END
        FROM lapsed x WHERE r.id = x.id;
  END IF;`;

/**
 * Extends a lease and releases the runs of expired workers. It skips locked runs; the next heartbeat releases them. So a worker that was
 * stopped in the middle of a commit does not block the heartbeats of others. Each statement in the function sees what the ones before it did.
 */
const HEARTBEAT = `
CREATE FUNCTION @.heartbeat(p_now bigint, p_worker text, p_lease bigint, p_workflows text, p_max bigint, p_names text[],
  p_versions integer[], p_lapsed text[], p_epochs integer[], p_blameless boolean[]) RETURNS json LANGUAGE plpgsql
  ${INDEX_SCANS_ONLY} AS $body$
DECLARE
  present bigint := ${NOW_SQL};
  expires bigint;
  freed bigint := 0;
  dead text;
  owned json;
  due bigint;
  expiry bigint;
BEGIN${INSERT_MISSING_OWNERS}
  SELECT w.expires_at INTO expires FROM @.workers w WHERE w.id = p_worker FOR UPDATE;
  INSERT INTO @.workers AS w (id, expires_at, workflows) VALUES (p_worker, present + p_lease, p_workflows)
    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, workflows = coalesce(excluded.workflows, w.workflows);${TAKE_BACK}
  FOR dead IN SELECT w.id FROM @.workers w WHERE w.expires_at <= present ORDER BY w.expires_at, w.id LIMIT p_max
      FOR UPDATE SKIP LOCKED LOOP
    EXIT WHEN freed >= p_max;
    freed := freed + @.release_unlocked_runs(present, dead, p_max - freed);
    DELETE FROM @.workers w WHERE w.id = dead AND NOT EXISTS (SELECT 1 FROM @.runs r WHERE r.owner = dead);
  END LOOP;
  owned := (${ownedSql("p_worker")});
  due := (${nextDueSql("p_worker", "p_names, p_versions")});
  expiry := (SELECT min(w.expires_at) FROM @.workers w WHERE w.id <> p_worker);
  RETURN json_build_object('alive', coalesce(expires > present, false), 'freed', freed, 'now', present, 'owned', owned,
    'nextDueAt', due, 'nextExpiryAt', expiry);
END $body$;
`;

const RETIRE = `
CREATE FUNCTION @.retire(p_now bigint, p_worker text) RETURNS void LANGUAGE plpgsql ${INDEX_SCANS_ONLY} AS $body$
BEGIN
  PERFORM 1 FROM @.workers w WHERE w.id = p_worker FOR UPDATE;
  PERFORM @.release_runs(${NOW_SQL}, p_worker, NULL);
  DELETE FROM @.workers w WHERE w.id = p_worker;
END $body$;
`;

/** The suspects that are due, from each workflow. The index of suspects is used only if the statement repeats its condition. */
function suspectsSql(condition: string, order: string, tail: string): string {
  return `FROM unnest(p_workflows, p_versions) AS w(name, version), LATERAL (
      SELECT r.id, r.claims, r.wake_at, r.n FROM @.runs r WHERE r.workflow = w.name AND r.version = w.version AND r.owner IS NULL
        AND r.wake_at <= present AND r.claims >= ${SUSPECT_CLAIMS_MIN} AND ${condition} ORDER BY ${order} ${tail}) AS c`;
}

/**
 * Chooses the next group of suspects, as `skippedRuns` in `rules/claim.ts` does: half of those that were freed together, or the one that
 * is due first if it is a lone suspect and the worker is idle. Beside a lone suspect no run is chosen. The suspects are counted without a
 * lock; those that another worker is claiming are skipped.
 */
function chooseSuspectsSql(order: string): string {
  const outer = order.replaceAll("r.", "c.");
  const isFirst = "(p_suspects_max IS NOT NULL OR r.wake_at = first_due)";
  return `
    SELECT c.claims, c.wake_at INTO first_claims, first_due
      ${suspectsSql("(r.claims = p_suspect_claims OR p_idle AND p_suspects_max IS NULL AND r.claims > p_suspect_claims)", order, "LIMIT 1")}
      ORDER BY ${outer} LIMIT 1;
    IF first_claims > p_suspect_claims THEN
      SELECT array_agg(c.id ORDER BY ${outer}) INTO suspects
        ${suspectsSql("r.claims > p_suspect_claims AND r.wake_at = first_due", order, "LIMIT 1 FOR UPDATE SKIP LOCKED")};
      suspects := suspects[1:1];
      IF suspects IS NOT NULL THEN
        chosen := NULL;
      END IF;
    ELSIF first_claims IS NOT NULL THEN
      group_size := p_suspects_max;
      IF group_size IS NULL THEN
        SELECT greatest(1, count(*) / 2) INTO group_size
          ${suspectsSql(`r.claims = p_suspect_claims AND ${isFirst}`, order, "LIMIT 2 * p_limit")};
      END IF;
      group_size := least(p_limit, group_size);
      SELECT array_agg(c.id ORDER BY ${outer}) INTO suspects
        ${suspectsSql(`r.claims = p_suspect_claims AND ${isFirst}`, order, "LIMIT group_size FOR UPDATE SKIP LOCKED")};
      suspects := suspects[1:group_size];
    END IF;`;
}

/**
 * Claims due runs in the given order, and a group of suspects among them. Runs that another worker is claiming are skipped. The worker's
 * row is locked before the runs, in the same order as in a heartbeat.
 */
function claimSql(name: string, first: "longest" | "newest"): string {
  const order = first === "longest" ? "r.wake_at, r.n" : "r.wake_at DESC, r.n DESC";
  return `
CREATE FUNCTION @.${name}(p_now bigint, p_worker text, p_limit bigint, p_workflows text[], p_versions integer[],
  p_suspect_claims integer, p_suspects_held bigint, p_suspects_max bigint,
  p_idle boolean) RETURNS json LANGUAGE plpgsql ${INDEX_SCANS_ONLY} AS $body$
DECLARE
  present bigint := ${NOW_SQL};
  chosen text[];
  suspects text[];
  group_size bigint;
  first_claims integer;
  first_due bigint;
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
      AND (p_suspect_claims IS NULL OR r.claims < p_suspect_claims) ORDER BY ${order} LIMIT p_limit FOR UPDATE SKIP LOCKED) AS c;
  IF p_suspect_claims >= ${SUSPECT_CLAIMS_MIN} AND (p_suspects_max IS NULL OR p_suspects_max > 0) THEN${chooseSuspectsSql(order)}
  END IF;
  chosen := ARRAY(SELECT r.id FROM @.runs r WHERE r.id = ANY (chosen || suspects) ORDER BY ${order} LIMIT p_limit);
  suspects := ARRAY(SELECT u.id FROM unnest(suspects) AS u(id) WHERE u.id = ANY (chosen));
  WITH taken AS (
    UPDATE @.runs r SET rev = r.rev + 1, status = CASE WHEN r.undo = 'underWay' THEN 'compensating' ELSE 'running' END,
        wait = CASE WHEN r.undo = 'underWay' THEN NULL ELSE r.wait END, epoch = r.epoch + 1, turn = 0, owner = p_worker, wake_at = NULL,
        claims = CASE WHEN x.newest > r.claim_seq THEN 0 ELSE r.claims END + CASE WHEN x.newest > r.claim_seq OR x.counts THEN 1 ELSE 0 END,
        claim_seq = x.newest, started_at = coalesce(r.started_at, present)
      FROM (SELECT r.id, ${NEWEST_SEQ} AS newest,
          r.id <> ALL (suspects) OR p_suspects_held = 0 AND cardinality(suspects) = 1 AS counts
        FROM @.runs r WHERE r.id = ANY (chosen)) AS x
      WHERE r.id = x.id RETURNING r.*)
    SELECT json_agg(json_build_array(${RUN_JSON}, r.id = ANY (suspects)) ORDER BY array_position(chosen, r.id)) INTO claimed
      FROM taken r;
  RETURN claimed;
END $body$;
`;
}

/** `claim_newest` takes the runs that became due last, for a worker whose backlog is late in any case. */
export const OWNERSHIP_SQL = [
  releaseSql("release_runs", "FOR UPDATE"),
  releaseSql("release_unlocked_runs", "FOR UPDATE SKIP LOCKED"),
  HEARTBEAT,
  RETIRE,
  claimSql("claim", "longest"),
  claimSql("claim_newest", "newest"),
].join("");
