import { NOW_SQL } from "./run-json.ts";

/** What a worker asks at each beat and poll. `worker` and `workflows` are how the statement around it names them. */

export function heldSql(worker: string): string {
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
  held json;
  due bigint;
  expiry bigint;
BEGIN
  beaten := @.beat_1(present, p_worker, p_lease, p_workflows, p_max);
  held := (${heldSql("p_worker")});
  due := (${nextDueSql("p_worker", "p_names, p_versions")});
  expiry := (SELECT min(w.expires_at) FROM @.workers w WHERE w.id <> p_worker);
  RETURN json_build_object('alive', beaten->'alive', 'freed', beaten->'freed', 'now', present, 'held', held, 'nextDueAt', due,
    'nextExpiryAt', expiry);
END $body$;
`;
