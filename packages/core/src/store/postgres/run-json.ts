/** A run's row as one JSON array; `run-rows.ts` reads it in the same order. `r` is the table of runs. */
export const HEAD_VALUES = `r.id, r.rev, r.status, r.epoch, r.turn, r.owner, r.wake_at, r.created_at, r.started_at, r.ended_at,
  r.inbox_last, r.topics, r.base_seq, r.generation, r.claims, r.claim_seq, r.workflow, r.version, r.start_id, r.control_id, r.undo`;

export const REST_VALUES = "r.parent_run, r.parent_location, r.parent_on_close, r.tags, r.wait, r.input, r.outcome";

export const RUN_JSON = `json_build_array(${HEAD_VALUES}, ${REST_VALUES})`;

/** The newest seq of a run's journal; its base when there is no record. */
export const NEWEST_SEQ = "coalesce((SELECT max(j.seq) FROM @.journal j WHERE j.run_id = r.id), r.base_seq)";

/** The present by the database's clock, unless the caller goes by another. */
export const NOW_SQL = "coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";
