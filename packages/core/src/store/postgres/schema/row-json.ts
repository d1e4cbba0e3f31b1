/** A run's row as one JSON array; `run-rows.ts` reads it in the same order. `r` is the table of runs. */
export const HEAD_VALUES = `r.id, r.rev, r.status, r.epoch, r.turn, r.owner, r.wake_at, r.created_at, r.started_at, r.ended_at,
  r.inbox_last, r.topics, r.base_seq, r.generation, r.claims, r.claim_seq, r.workflow, r.version, r.start_id, r.control_id, r.undo`;

export const REST_VALUES = "r.parent_run, r.parent_location, r.parent_on_close, r.tags, r.wait, r.input, r.outcome";

export const RUN_JSON = `json_build_array(${HEAD_VALUES}, ${REST_VALUES})`;

/** The newest seq of a run's journal; its base when there is no record. */
export const NEWEST_SEQ = "coalesce((SELECT max(j.seq) FROM @.journal j WHERE j.run_id = r.id), r.base_seq)";

/** The present by the database's clock, unless the caller goes by another. */
export const NOW_SQL = "coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

/**
 * A journal's index leads to chunks of records: so many share one entry, where an entry for each was as large as the record. Whoever
 * looks for a record says which chunk it is in, and reads at most one more than it needs.
 */
const RECORDS_BITS = 4;

/** The chunk that a seq is in. */
export function chunkOf(seq: string): string {
  return `(${seq} >> ${RECORDS_BITS})`;
}

/** Of `j`: those of a run from one seq to another. Left out: to the newest. */
export function recordsSql(run: string, first: string, last?: string): string {
  const to = last === undefined ? "" : ` AND ${chunkOf("j.seq")} <= ${chunkOf(last)} AND j.seq <= ${last}`;
  return `j.run_id = ${run} AND ${chunkOf("j.seq")} >= ${chunkOf(first)} AND j.seq >= ${first}${to}`;
}

/** The newest seq of a run's journal; its base when there is no record. `r` is the table of runs. */
export const NEWEST_IN_CHUNKS = `coalesce((SELECT max(j.seq) FROM @.journal j WHERE j.run_id = r.id AND ${chunkOf("j.seq")} =
  (SELECT max(${chunkOf("k.seq")}) FROM @.journal k WHERE k.run_id = r.id)), r.base_seq)`;

/** The newest seq of a run up to one of `x`. */
export const FLOOR_IN_CHUNKS = `(SELECT j.seq FROM @.journal j WHERE ${recordsSql("x.run_id", "0", "x.seq")}
  ORDER BY ${chunkOf("j.seq")} DESC, j.seq DESC LIMIT 1)`;
