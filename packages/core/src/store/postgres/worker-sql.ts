import { NEWEST_SEQ, NOW_SQL, RUN_JSON } from "./run-json.ts";

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

/**
 * The longest due first, with no more suspects than asked for. Runs that another worker is claiming at the same time are
 * passed by. The worker's row is locked before the runs, as whoever takes a worker for dead does.
 */
const CLAIM = `
CREATE FUNCTION @.claim_1(p_now bigint, p_worker text, p_limit bigint, p_workflows text[], p_versions integer[],
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
      AND r.claims < p_suspect_claims ORDER BY r.wake_at, r.n LIMIT p_limit FOR UPDATE SKIP LOCKED) AS c;
  IF p_suspects_max > 0 THEN
    SELECT array_agg(c.id) INTO suspects FROM unnest(p_workflows, p_versions) AS w(name, version), LATERAL (
      SELECT r.id FROM @.runs r WHERE r.workflow = w.name AND r.version = w.version AND r.owner IS NULL AND r.wake_at <= present
        AND r.claims >= p_suspect_claims ORDER BY r.wake_at, r.n LIMIT p_suspects_max FOR UPDATE SKIP LOCKED) AS c;
    suspects := ARRAY(SELECT r.id FROM @.runs r WHERE r.id = ANY (suspects) ORDER BY r.wake_at, r.n LIMIT p_suspects_max);
  END IF;
  chosen := ARRAY(SELECT r.id FROM @.runs r WHERE r.id = ANY (chosen || suspects) ORDER BY r.wake_at, r.n LIMIT p_limit);
  WITH taken AS (
    UPDATE @.runs r SET rev = r.rev + 1, status = CASE WHEN r.undo = 'underWay' THEN 'compensating' ELSE 'running' END,
        wait = CASE WHEN r.undo = 'underWay' THEN NULL ELSE r.wait END, epoch = r.epoch + 1, turn = 0, owner = p_worker, wake_at = NULL,
        claims = CASE WHEN x.newest > r.claim_seq THEN 1 ELSE r.claims + 1 END, claim_seq = x.newest,
        started_at = coalesce(r.started_at, present)
      FROM (SELECT r.id, ${NEWEST_SEQ} AS newest FROM @.runs r WHERE r.id = ANY (chosen)) AS x
      WHERE r.id = x.id RETURNING r.*)
    SELECT json_agg(${RUN_JSON} ORDER BY array_position(chosen, r.id)) INTO claimed FROM taken r;
  RETURN claimed;
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

export const WORKER_SQL = `${FREE}${CLAIM}${BEAT}`;
