import { claimSql } from "./claim-sql.ts";
import { NOW_SQL } from "./run-json.ts";

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
