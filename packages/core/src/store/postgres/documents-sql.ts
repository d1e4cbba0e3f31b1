import { CANCELLED_DOCUMENT, OPEN_DOCUMENT } from "../../model/transition.ts";
import { CONFLICT_STATE, PARAMETERS, PLAN } from "./commit-sql.ts";

/** The names of the parameters of a commit, but with nothing to do to documents. */
function passedOn(parameters: string): string {
  const names = parameters.split(",").map((parameter) => parameter.trim().split(/\s+/)[0] ?? "");
  return names.map((name) => (name === "p_documents" ? "NULL" : name)).join(", ");
}

/**
 * A commit that also does to documents what has to be seen by the database: what is open is closed, what is there is marked, and
 * what takes the place of something takes the place of nothing else.
 */
export const documentsSql = (name: string, commit: string, parameters: string): string => `
CREATE FUNCTION @.${name}(${parameters}, p_closed text[]) RETURNS bigint LANGUAGE plpgsql ${PLAN} AS $body$
DECLARE
  found bigint;
  wanted bigint;
  present bigint;
BEGIN
  present := @.${commit}(${passedOn(parameters)});
  IF present IS NULL THEN RETURN NULL; END IF;
  IF p_closed IS NOT NULL THEN
    UPDATE @.documents o SET d = '${CANCELLED_DOCUMENT}' WHERE o.run_id = ANY (p_closed) AND o.d = '${OPEN_DOCUMENT}';
  END IF;
  IF p_documents IS NULL THEN RETURN present; END IF;
  DELETE FROM @.documents o USING json_to_recordset(p_documents) AS x(what text, kind text, id text)
    WHERE o.kind = x.kind AND o.id = x.id AND x.what = 'remove';
  SELECT count(*) INTO wanted FROM json_to_recordset(p_documents) AS x(what text) WHERE x.what IN ('revise', 'insert');
  IF wanted > 0 THEN
    UPDATE @.documents o SET run_id = x.run_id, a = x.a, b = x.b, c = x.c, d = x.d, body = x.body
      FROM json_to_recordset(p_documents) AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text,
        body text, s_run text, s_body text, s_a text, s_b text, s_c text, s_d text)
      WHERE x.what = 'revise' AND o.kind = x.kind AND o.id = x.id AND o.run_id IS NOT DISTINCT FROM x.s_run
        AND o.body IS NOT DISTINCT FROM x.s_body AND o.a IS NOT DISTINCT FROM x.s_a AND o.b IS NOT DISTINCT FROM x.s_b
        AND o.c IS NOT DISTINCT FROM x.s_c AND o.d IS NOT DISTINCT FROM x.s_d;
    GET DIAGNOSTICS found = ROW_COUNT;
    wanted := wanted - found;
    INSERT INTO @.documents (kind, id, run_id, a, b, c, d, body)
      SELECT x.kind, x.id, x.run_id, x.a, x.b, x.c, x.d, x.body FROM json_to_recordset(p_documents)
        AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text, body text)
      WHERE x.what = 'insert' ORDER BY x.kind, x.id ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS found = ROW_COUNT;
    IF found < wanted THEN
      RAISE EXCEPTION 'a document has changed' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
  END IF;
  UPDATE @.documents o SET a = coalesce(x.m_a, o.a), b = coalesce(x.m_b, o.b), c = coalesce(x.m_c, o.c), d = coalesce(x.m_d, o.d)
    FROM json_to_recordset(p_documents) AS x(what text, kind text, id text, m_a text, m_b text, m_c text, m_d text)
    WHERE x.what IN ('mark', 'create') AND o.kind = x.kind AND o.id = x.id;
  INSERT INTO @.documents (kind, id, run_id, a, b, c, d, body)
    SELECT x.kind, x.id, x.run_id, x.a, x.b, x.c, x.d, x.body FROM json_to_recordset(p_documents)
      AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text, body text)
    WHERE x.what = 'create' ORDER BY x.kind, x.id ON CONFLICT DO NOTHING;
  INSERT INTO @.documents AS o (kind, id, run_id, a, b, c, d, body)
    SELECT x.kind, x.id, x.run_id, x.a, x.b, x.c, x.d, x.body FROM json_to_recordset(p_documents)
      AS x(what text, kind text, id text, run_id text, a text, b text, c text, d text, body text)
    WHERE x.what = 'put' ORDER BY x.kind, x.id
    ON CONFLICT (kind, id) DO UPDATE SET run_id = excluded.run_id, a = excluded.a, b = excluded.b, c = excluded.c,
      d = excluded.d, body = excluded.body;
  RETURN present;
END $body$;
`;

export const DOCUMENTS_SQL = documentsSql("commit_6", "commit_1", PARAMETERS);

export const DOCUMENTS_CHUNKS_SQL = documentsSql("commit_documents_10", "commit_checked_10", PARAMETERS);
