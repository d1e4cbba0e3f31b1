import { COMMIT_CHUNKS_SQL, DOCUMENTS_CHUNKS_SQL } from "./commit.ts";
import { LOADING_CHUNKS_SQL } from "./loads.ts";
import { CLAIM_CHUNKS_SQL } from "./ownership.ts";
import { fewRowsSql, rowsSql } from "./reads.ts";
import { chunkOf, FLOOR_IN_CHUNKS, NEWEST_IN_CHUNKS } from "./row-json.ts";

/**
 * A journal's index leads to chunks of records, and is a fifth as large. It tells no record from another: that is for
 * `rev` to do, and for a look at the journal under the lock of the run (Q3). Without a key, a publication of the table has to know
 * whole rows.
 */
const TABLE = `
CREATE INDEX journal_chunks ON @.journal (run_id, ${chunkOf("seq")});
ALTER TABLE @.journal DROP CONSTRAINT journal_pkey;
ALTER TABLE @.journal REPLICA IDENTITY FULL;
`;

/**
 * Runs of one millisecond lie together in a list without their ids in its index, and share an entry. Almost no change of a run is one
 * that room in its page makes cheaper.
 */
const LISTS = `
CREATE INDEX runs_open_at ON @.runs (created_at) WHERE ended_at IS NULL;
CREATE INDEX runs_ended_at ON @.runs (status, created_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_workflow_at ON @.runs (workflow, created_at);
DROP INDEX @.runs_open;
DROP INDEX @.runs_ended;
DROP INDEX @.runs_workflow;
ALTER TABLE @.runs SET (fillfactor = 90);
`;

export const JOURNAL_SQL = [
  TABLE,
  LISTS,
  COMMIT_CHUNKS_SQL,
  DOCUMENTS_CHUNKS_SQL,
  rowsSql("rows_all_10", { newest: NEWEST_IN_CHUNKS, floor: FLOOR_IN_CHUNKS }),
  fewRowsSql("rows_10", "rows_all_10", NEWEST_IN_CHUNKS),
  CLAIM_CHUNKS_SQL,
  LOADING_CHUNKS_SQL,
].join("");
