import { heldSql, nextDueSql } from "./beat-sql.ts";
import { NOW_SQL } from "./run-json.ts";

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

const FREE = `
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

export const OWNERS_SQL = `${FREE}
CREATE FUNCTION @.beat_5(p_now bigint, p_worker text, p_lease bigint, p_workflows text, p_max bigint, p_names text[],
  p_versions integer[]) RETURNS json LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  present bigint := ${NOW_SQL};
  expires bigint;
  freed bigint := 0;
  dead text;
  held json;
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
  held := (${heldSql("p_worker")});
  due := (${nextDueSql("p_worker", "p_names, p_versions")});
  expiry := (SELECT min(w.expires_at) FROM @.workers w WHERE w.id <> p_worker);
  RETURN json_build_object('alive', coalesce(expires > present, false), 'freed', freed, 'now', present, 'held', held,
    'nextDueAt', due, 'nextExpiryAt', expiry);
END $body$;
`;
