import { PLAN } from "./commit-sql.ts";
import { NOW_SQL } from "./run-json.ts";

/** What `commit_1` does where one record of one run is all there is, in half the time: a step after another is that and nothing else. */
export const APPEND_SQL = `
CREATE FUNCTION @.append_7(p_now bigint, p_run text, p_rev integer, p_seq integer, p_location text, p_kind text, p_outcome text,
  p_attempts integer, p_started_at bigint, p_at bigint, p_detail text, p_payload text) RETURNS bigint LANGUAGE plpgsql ${PLAN} AS $body$
BEGIN
  PERFORM 1 FROM @.runs r WHERE r.id = p_run AND r.rev = p_rev FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO @.journal (run_id, seq, location, kind, outcome, attempts, started_at, at, detail, payload)
    VALUES (p_run, p_seq, p_location, p_kind, p_outcome, p_attempts, p_started_at, p_at, p_detail, p_payload);
  RETURN ${NOW_SQL};
END $body$;
`;
