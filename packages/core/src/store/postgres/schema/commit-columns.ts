import { CONFLICT_STATE, CUT, commitSql, documentsSql, TAGS, TAKEN } from "./commit.ts";

/**
 * One commit in one call, as in `commit-sql.ts`, but with columns instead of objects: runs come as their ids, what is the same for all
 * of them, and a list for each column that is not. To read an object for each run takes the server longer than to write the run.
 */

/** In the order in which `commit-call.ts` gives them. */
const PARAMETERS = `p_now bigint, p_not_before bigint, p_locks text[], p_revs integer[], p_recorded text[], p_seq integer[],
  p_location text[], p_kind text[], p_outcome text[], p_attempts integer[], p_since bigint, p_took bigint[], p_at bigint[],
  p_detail text[], p_payload text[], p_workers text[], p_topics json, p_created text[], p_created_same json, p_created_each json,
  p_tags json, p_saved text[], p_saved_same json, p_saved_each json, p_cuts json, p_inbox json, p_taken json, p_waits json,
  p_events json, p_seen json, p_letters json, p_documents json, p_channel text, p_hints text[], p_childless text[]`;

/** What is the same for all records comes once, and the runs of records not at all where they are those that are locked. */
const VARIABLES = `
  p_run text[] := CASE WHEN p_seq IS NOT NULL THEN coalesce(p_recorded, p_locks) END;
  one_rev integer := p_revs[1];
  one_location text := p_location[1];
  one_kind text := p_kind[1];
  one_outcome text := p_outcome[1];
  one_attempts integer := p_attempts[1];
  one_took bigint := p_took[1];
  one_at bigint := p_at[1];
  one_detail text := p_detail[1];`;

/** One look along the index finds all. Where the revs differ, they are compared in the order of the ids. */
const LOCKED = `    IF cardinality(p_revs) = 1 THEN
      SELECT count(*) INTO found FROM (
        SELECT 1 FROM @.runs r WHERE r.id = ANY (p_locks) AND r.rev = one_rev ORDER BY r.id FOR UPDATE OF r) AS locked;
    ELSIF ARRAY(SELECT r.rev FROM @.runs r WHERE r.id = ANY (p_locks) ORDER BY r.id FOR UPDATE OF r)
        = ARRAY(SELECT x.rev FROM (SELECT unnest(p_locks) AS id, unnest(p_revs) AS rev) AS x ORDER BY x.id COLLATE "C") THEN
      found := cardinality(p_locks);
    ELSE
      found := 0;
    END IF;`;

const HEAD_COLUMNS = {
  undo: "text",
  status: "text",
  epoch: "integer",
  turn: "integer",
  owner: "text",
  wake_at: "bigint",
  started_at: "bigint",
  ended_at: "bigint",
  inbox_last: "integer",
  topics: "integer",
  base_seq: "integer",
  generation: "integer",
  claims: "integer",
  claim_seq: "integer",
  workflow: "text",
  version: "integer",
  control_id: "text",
} as const;

const CREATED_COLUMNS = {
  ...HEAD_COLUMNS,
  created_at: "bigint",
  start_id: "text",
  parent_run: "text",
  parent_location: "text",
  parent_on_close: "text",
  tags: "text",
  wait: "text",
  input: "text",
  outcome: "text",
} as const;

const SAVED_COLUMNS = {
  ...HEAD_COLUMNS,
  sets_wait: "boolean",
  wait: "text",
  sets_outcome: "boolean",
  outcome: "text",
  sets_input: "boolean",
  input: "text",
} as const;

export type HeadColumn = keyof typeof HEAD_COLUMNS;
export type CreatedColumn = keyof typeof CREATED_COLUMNS;
export type SavedColumn = keyof typeof SAVED_COLUMNS;

type ColumnTypes = Readonly<Record<string, string>>;

/** Rows to write: where they come from, and how a column of one is said. `x` has its id, and its number where it gets one. */
interface Rows {
  readonly from: string;
  readonly value: (name: string) => string;
}

function fieldsSql(columns: ColumnTypes, suffix = ""): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${type}${suffix}`)
    .join(", ");
}

/** Rows that differ in their ids alone, as a single one does. */
function sameRows(parameter: string, columns: ColumnTypes, numbers = ""): Rows {
  const from = `(SELECT unnest(${parameter}) AS id${numbers}) AS x, json_to_record(${parameter}_same) AS s(${fieldsSql(columns)})`;
  return { from, value: (name) => `s.${name}` };
}

/** Rows of which each has what is the same for all, or its own. */
function eachRows(parameter: string, columns: ColumnTypes, numbers = ""): Rows {
  const own = Object.keys(columns).map((name) => `unnest(a.${name}) AS ${name}`);
  const from = `(SELECT unnest(${parameter}) AS id${numbers}, ${own.join(", ")}
          FROM json_to_record(${parameter}_each) AS a(${fieldsSql(columns, "[]")})) AS x,
        json_to_record(${parameter}_same) AS s(${fieldsSql(columns)})`;
  return { from, value: (name) => `coalesce(x.${name}, s.${name})` };
}

const CREATED_NAMES = Object.keys(CREATED_COLUMNS);
const HEAD_NAMES = Object.keys(HEAD_COLUMNS);
/** Columns that stay as they are unless they are set. */
const KEPT_NAMES = ["wait", "outcome", "input"];

const PLACES = ", unnest(places) AS n";

const insertSql = ({ from, value }: Rows): string => `INSERT INTO @.runs (n, rev, id, ${CREATED_NAMES.join(", ")})
        SELECT x.n, 1, x.id, ${CREATED_NAMES.map(value).join(", ")}
        FROM ${from}
        ORDER BY x.id COLLATE "C" ON CONFLICT DO NOTHING;`;

function updateSql({ from, value }: Rows): string {
  const head = HEAD_NAMES.map((name) => `${name} = ${value(name)}`);
  const kept = KEPT_NAMES.map(
    (name) => `${name} = CASE WHEN ${value(`sets_${name}`)} THEN ${value(name)} ELSE r.${name} END`,
  );
  return `UPDATE @.runs r SET rev = r.rev + 1, ${[...head, ...kept].join(", ")}
        FROM ${from}
        WHERE r.id = x.id;`;
}

const RUNS = `
  IF p_created IS NOT NULL THEN
    places := ARRAY(SELECT nextval('@.places') FROM generate_series(1, cardinality(p_created)));
    IF p_created_each IS NULL THEN
      ${insertSql(sameRows("p_created", CREATED_COLUMNS, PLACES))}
    ELSE
      ${insertSql(eachRows("p_created", CREATED_COLUMNS, PLACES))}
    END IF;
    GET DIAGNOSTICS found = ROW_COUNT;
    IF found < cardinality(p_created) THEN
      RAISE EXCEPTION 'a run is there already' USING ERRCODE = '${CONFLICT_STATE}';
    END IF;
  END IF;
${TAGS}
  IF p_saved IS NOT NULL THEN
    IF p_saved_each IS NULL THEN
      ${updateSql(sameRows("p_saved", SAVED_COLUMNS))}
    ELSE
      ${updateSql(eachRows("p_saved", SAVED_COLUMNS))}
    END IF;
  END IF;`;

const RECORDS = `SELECT x.run_id, x.seq, coalesce(x.location, one_location), coalesce(x.kind, one_kind),
        coalesce(x.outcome, one_outcome), coalesce(x.attempts, one_attempts),
        p_since + coalesce(x.at, one_at) - coalesce(x.took, one_took), p_since + coalesce(x.at, one_at),
        coalesce(x.detail, one_detail), x.payload
      FROM (SELECT unnest(p_run) AS run_id, unnest(p_seq) AS seq, unnest(p_location) AS location, unnest(p_kind) AS kind,
        unnest(p_outcome) AS outcome, unnest(p_attempts) AS attempts, unnest(p_took) AS took, unnest(p_at) AS at,
        unnest(p_detail) AS detail, unnest(p_payload) AS payload) AS x`;

const inColumns = (name: string, check: string): string =>
  commitSql(name, {
    parameters: PARAMETERS,
    variables: VARIABLES,
    locked: LOCKED,
    runs: RUNS,
    journal: { cut: CUT, check, records: RECORDS },
  });

export const COLUMNS_SQL = [
  inColumns("commit_11", ""),
  inColumns("commit_checked_11", TAKEN),
  documentsSql("commit_documents_11", "commit_checked_11", PARAMETERS),
].join("");
