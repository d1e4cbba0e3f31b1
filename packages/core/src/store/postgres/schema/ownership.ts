import { NEWEST_IN_CHUNKS, NEWEST_SEQ, NOW_SQL, RUN_JSON } from "./row-json.ts";

/** Claims, beats and retirement: what moves runs from one owner to another. */

/** A run that rests waits on as it did; one in the middle of work has to be claimed. */
const FREE = `
CREATE FUNCTION @.free_1(p_now bigint, p_worker text, p_limit bigint) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  freed bigint;
BEGIN
  WITH mine AS (SELECT r.id FROM @.runs r
      WHERE r.id IN (SELECT q.id FROM @.runs q WHERE q.owner = p_worker LIMIT p_limit) AND r.owner = p_worker
      ORDER BY r.id FOR UPDATE)
    UPDATE @.runs r SET rev = r.rev + 1, owner = NULL, epoch = r.epoch + 1, turn = 0,
        wake_at = CASE WHEN r.status = 'suspended' OR r.status = 'compensating' AND r.wait IS NOT NULL OR r.ended_at IS NOT NULL
          THEN r.wake_at ELSE p_now END
      FROM mine WHERE r.id = mine.id;
  GET DIAGNOSTICS freed = ROW_COUNT;
  RETURN freed;
END $body$;
`;

const BEAT = `
CREATE FUNCTION @.beat_1(p_now bigint, p_worker text, p_lease bigint, p_workflows text, p_max bigint) RETURNS json
  LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  present bigint := ${NOW_SQL};
  expires bigint;
  freed bigint := 0;
  dead text;
BEGIN
  SELECT w.expires_at INTO expires FROM @.workers w WHERE w.id = p_worker FOR UPDATE;
  INSERT INTO @.workers AS w (id, expires_at, workflows) VALUES (p_worker, present + p_lease, p_workflows)
    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, workflows = coalesce(excluded.workflows, w.workflows);
  IF expires IS NULL OR expires <= present THEN freed := @.free_1(present, p_worker, NULL); END IF;
  FOR dead IN SELECT w.id FROM @.workers w WHERE w.expires_at <= present ORDER BY w.expires_at, w.id LIMIT p_max
      FOR UPDATE SKIP LOCKED LOOP
    EXIT WHEN freed >= p_max;
    freed := freed + @.free_1(present, dead, p_max - freed);
    DELETE FROM @.workers w WHERE w.id = dead AND NOT EXISTS (SELECT 1 FROM @.runs r WHERE r.owner = dead);
  END LOOP;
  RETURN json_build_object('alive', coalesce(expires > present, false), 'freed', freed, 'now', present);
END $body$;

CREATE FUNCTION @.retire_1(p_now bigint, p_worker text) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $body$
BEGIN
  PERFORM 1 FROM @.workers w WHERE w.id = p_worker FOR UPDATE;
  PERFORM @.free_1(${NOW_SQL}, p_worker, NULL);
  DELETE FROM @.workers w WHERE w.id = p_worker;
END $body$;
`;

export const WORKER_SQL = `${FREE}${claimSql("claim_1", "longest", "sought")}${BEAT}`;

/** What a worker asks at each beat and poll. `worker` and `workflows` are how the statement around it names them. */

export function ownedSql(worker: string): string {
  return `SELECT json_agg(json_build_array(r.id, r.epoch) ORDER BY r.n) FROM @.runs r
    WHERE r.owner = ${worker} AND (r.status = 'running' OR r.status = 'compensating' AND r.wait IS NULL)`;
}

/** One look at an index for each version of a workflow, however many runs wait. */
export function nextDueSql(worker: string, workflows: string): string {
  return `SELECT least((SELECT min(r.wake_at) FROM @.runs r WHERE r.owner = ${worker}),
    (SELECT min(f.at) FROM unnest(${workflows}) AS w(name, version), LATERAL (SELECT min(r.wake_at) AS at FROM @.runs r
      WHERE r.workflow = w.name AND r.version = w.version AND r.owner IS NULL AND r.wake_at IS NOT NULL) AS f))`;
}

/** A beat, and what is to be seen after it: each statement in the function sees what those before it did. */
export const BEAT_SQL = `
CREATE FUNCTION @.beat_2(p_now bigint, p_worker text, p_lease bigint, p_workflows text, p_max bigint, p_names text[],
  p_versions integer[]) RETURNS json LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  present bigint := ${NOW_SQL};
  beaten json;
  owned json;
  due bigint;
  expiry bigint;
BEGIN
  beaten := @.beat_1(present, p_worker, p_lease, p_workflows, p_max);
  owned := (${ownedSql("p_worker")});
  due := (${nextDueSql("p_worker", "p_names, p_versions")});
  expiry := (SELECT min(w.expires_at) FROM @.workers w WHERE w.id <> p_worker);
  RETURN json_build_object('alive', beaten->'alive', 'freed', beaten->'freed', 'now', present, 'owned', owned, 'nextDueAt', due,
    'nextExpiryAt', expiry);
END $body$;
`;

/**
 * Beats that leave no run behind.
 *
 * A worker may be taken for dead, and its row deleted, between the moment in which a claim or a commit of its own looks for that
 * row and the moment in which it locks it: its runs would have an owner that nobody frees. So each beat looks for owners without
 * a row, one look at an index for each owner, and gives them one whose time is over.
 *
 * A run that is locked while it is to be freed is passed by, and freed at the next beat: a worker that was stopped in the middle
 * of a commit must not keep others from saying that they live.
 */
const ORPHANS = `
  INSERT INTO @.workers (id, expires_at)
    WITH RECURSIVE owners(id) AS (
      SELECT min(r.owner) FROM @.runs r WHERE r.owner IS NOT NULL
      UNION ALL
      SELECT (SELECT min(r.owner) FROM @.runs r WHERE r.owner > o.id) FROM owners o WHERE o.id IS NOT NULL)
    SELECT o.id, 0 FROM owners o WHERE o.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @.workers w WHERE w.id = o.id)
    ORDER BY o.id ON CONFLICT DO NOTHING;`;

const OWNERS_SQL_FREE = `
CREATE FUNCTION @.free_5(p_now bigint, p_worker text, p_limit bigint) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  freed bigint;
BEGIN
  WITH mine AS (SELECT r.id FROM @.runs r
      WHERE r.id IN (SELECT q.id FROM @.runs q WHERE q.owner = p_worker LIMIT p_limit) AND r.owner = p_worker
      ORDER BY r.id FOR UPDATE SKIP LOCKED)
    UPDATE @.runs r SET rev = r.rev + 1, owner = NULL, epoch = r.epoch + 1, turn = 0,
        wake_at = CASE WHEN r.status = 'suspended' OR r.status = 'compensating' AND r.wait IS NOT NULL OR r.ended_at IS NOT NULL
          THEN r.wake_at ELSE p_now END
      FROM mine WHERE r.id = mine.id;
  GET DIAGNOSTICS freed = ROW_COUNT;
  RETURN freed;
END $body$;
`;

export const OWNERS_SQL = `${OWNERS_SQL_FREE}
CREATE FUNCTION @.beat_5(p_now bigint, p_worker text, p_lease bigint, p_workflows text, p_max bigint, p_names text[],
  p_versions integer[]) RETURNS json LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  present bigint := ${NOW_SQL};
  expires bigint;
  freed bigint := 0;
  dead text;
  owned json;
  due bigint;
  expiry bigint;
BEGIN${ORPHANS}
  SELECT w.expires_at INTO expires FROM @.workers w WHERE w.id = p_worker FOR UPDATE;
  INSERT INTO @.workers AS w (id, expires_at, workflows) VALUES (p_worker, present + p_lease, p_workflows)
    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, workflows = coalesce(excluded.workflows, w.workflows);
  IF expires IS NULL OR expires <= present THEN freed := @.free_5(present, p_worker, NULL); END IF;
  FOR dead IN SELECT w.id FROM @.workers w WHERE w.expires_at <= present ORDER BY w.expires_at, w.id LIMIT p_max
      FOR UPDATE SKIP LOCKED LOOP
    EXIT WHEN freed >= p_max;
    freed := freed + @.free_5(present, dead, p_max - freed);
    DELETE FROM @.workers w WHERE w.id = dead AND NOT EXISTS (SELECT 1 FROM @.runs r WHERE r.owner = dead);
  END LOOP;
  owned := (${ownedSql("p_worker")});
  due := (${nextDueSql("p_worker", "p_names, p_versions")});
  expiry := (SELECT min(w.expires_at) FROM @.workers w WHERE w.id <> p_worker);
  RETURN json_build_object('alive', coalesce(expires > present, false), 'freed', freed, 'now', present, 'owned', owned,
    'nextDueAt', due, 'nextExpiryAt', expiry);
END $body$;
`;

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
