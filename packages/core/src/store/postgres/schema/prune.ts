import { INDEX_ORDER_ONLY } from "./planner-settings.ts";

/**
 * Deletes expired rows, at most `p_limit` of each kind. Children are deleted before their parents, in the same call if the limit allows. Each
 * batch reads the oldest runs of a status in the order of an index: sorting all runs that may be deleted would take longer for each batch
 * than deleting it.
 */
export const PRUNE_SQL = `
CREATE FUNCTION @.prune(p_ended_before bigint, p_statuses text[], p_received_before bigint, p_letters_before bigint,
  p_limit bigint) RETURNS json
  LANGUAGE plpgsql ${INDEX_ORDER_ONLY} AS $body$
DECLARE
  gone text[];
  ended text;
  runs bigint := 0;
  entries bigint := 0;
  letters bigint := 0;
  forgotten bigint;
BEGIN
  WHILE p_ended_before IS NOT NULL AND runs < p_limit LOOP
    gone := '{}';
    FOREACH ended IN ARRAY p_statuses LOOP
      gone := gone || ARRAY(SELECT r.id FROM @.runs r
        WHERE r.status = ended AND r.ended_at IS NOT NULL AND r.ended_at < p_ended_before AND r.created_at < p_ended_before
          AND NOT EXISTS (SELECT 1 FROM @.runs c WHERE c.parent_run = r.id)
          AND (r.parent_run IS NULL OR NOT EXISTS (
            WITH RECURSIVE above AS (
              SELECT p.id, p.ended_at, p.parent_run, p.created_at FROM @.runs p
                WHERE p.id = r.parent_run AND r.created_at >= coalesce(p.started_at, 0)
              UNION ALL
              SELECT p.id, p.ended_at, p.parent_run, p.created_at FROM above a JOIN @.runs p ON p.id = a.parent_run
                WHERE a.ended_at IS NOT NULL AND a.created_at >= coalesce(p.started_at, 0))
            SELECT 1 FROM above WHERE ended_at IS NULL))
        ORDER BY r.created_at, r.n LIMIT p_limit - runs - cardinality(gone) FOR UPDATE SKIP LOCKED);
    END LOOP;
    EXIT WHEN cardinality(gone) = 0;
    DELETE FROM @.journal j WHERE j.run_id = ANY (gone);
    DELETE FROM @.inbox i WHERE i.run_id = ANY (gone);
    DELETE FROM @.inbox_ids i WHERE i.run_id = ANY (gone);
    DELETE FROM @.topics_seen t WHERE t.run_id = ANY (gone);
    DELETE FROM @.tags t WHERE t.run_id = ANY (gone);
    DELETE FROM @.documents d WHERE d.run_id = ANY (gone);
    DELETE FROM @.runs r WHERE r.id = ANY (gone);
    runs := runs + cardinality(gone);
  END LOOP;
  IF p_received_before IS NOT NULL THEN
    WITH old AS (SELECT k.run_id, k.kind, k.id FROM @.inbox_ids k
        WHERE k.at < p_received_before AND NOT EXISTS (SELECT 1 FROM @.inbox e WHERE e.run_id = k.run_id AND e.n = k.n)
        ORDER BY k.at LIMIT p_limit FOR UPDATE SKIP LOCKED)
      DELETE FROM @.inbox_ids k USING old WHERE k.run_id = old.run_id AND k.kind = old.kind AND k.id = old.id;
    GET DIAGNOSTICS entries = ROW_COUNT;
    WITH old AS (SELECT e.id FROM @.events e
        WHERE NOT e.pending AND e.at < p_received_before AND NOT EXISTS (SELECT 1 FROM @.inbox_ids k
          JOIN @.inbox b ON b.run_id = k.run_id AND b.n = k.n
          WHERE k.run_id = e.holder AND k.kind = 'event' AND k.id = 'event:' || e.id)
        ORDER BY e.at LIMIT p_limit - entries FOR UPDATE SKIP LOCKED)
      DELETE FROM @.events e USING old WHERE e.id = old.id;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    entries := entries + forgotten;
  END IF;
  IF p_letters_before IS NOT NULL THEN
    WITH old AS (SELECT l.id FROM @.letters l WHERE l.dead_at < p_letters_before ORDER BY l.dead_at, l.n LIMIT p_limit
        FOR UPDATE SKIP LOCKED)
      DELETE FROM @.letters l USING old WHERE l.id = old.id;
    GET DIAGNOSTICS letters = ROW_COUNT;
  END IF;
  RETURN json_build_object('runs', runs, 'entries', entries, 'letters', letters);
END $body$;
`;
