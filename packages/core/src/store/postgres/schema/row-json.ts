/** SQL expressions that several statements share. In each, `r` is a row of `runs` and `j` a row of `journal`. */

/** The head of a run as values of a JSON array, in the order of `HeadValues`. */
export const HEAD_VALUES = `r.id, r.rev, r.status, r.epoch, r.turn, r.owner, r.wake_at, r.created_at, r.started_at, r.ended_at,
  r.inbox_last, r.topics, r.base_seq, r.generation, r.claims, r.claim_seq, r.workflow, r.version, r.start_id, r.control_id, r.undo`;

/** A whole run, in the order of `RunValues`. */
export const RUN_JSON = `json_build_array(${HEAD_VALUES}, r.parent_run, r.parent_location, r.parent_on_close, r.tags, r.limits,
  r.wait, r.input, r.outcome)`;

/** The current time in ms: `p_now` if the caller uses another clock, otherwise the clock of the database. */
export const NOW_SQL = "coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

/**
 * The index of the journal has one entry per chunk of 16 records of a run. One entry per record would be as large as the record. So every
 * condition on `seq` also names the chunk, and a scan reads at most one chunk more than it needs.
 */
const CHUNK_BITS = 4;

/** The chunk of a seq. */
export function chunkOf(seq: string): string {
  return `(${seq} >> ${CHUNK_BITS})`;
}

/** Matches the records of a run from seq `first` to `last`, or to the newest if `last` is omitted. */
export function recordsSql(run: string, first: string, last?: string): string {
  const to = last === undefined ? "" : ` AND ${chunkOf("j.seq")} <= ${chunkOf(last)} AND j.seq <= ${last}`;
  return `j.run_id = ${run} AND ${chunkOf("j.seq")} >= ${chunkOf(first)} AND j.seq >= ${first}${to}`;
}

/** The newest seq of a run's journal, or its base seq if it has no record. */
export const NEWEST_SEQ = `coalesce((SELECT max(j.seq) FROM @.journal j WHERE j.run_id = r.id AND ${chunkOf("j.seq")} =
  (SELECT max(${chunkOf("k.seq")}) FROM @.journal k WHERE k.run_id = r.id)), r.base_seq)`;
