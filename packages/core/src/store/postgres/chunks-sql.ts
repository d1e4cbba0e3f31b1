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
