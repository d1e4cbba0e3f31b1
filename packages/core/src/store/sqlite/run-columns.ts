import type { Parent, Run, Wait } from "../../model/run.ts";
import type { RunHead } from "../tables.ts";
import { fromColumn, fromColumnOrNull } from "./text.ts";

/** The columns of a run's head, in the order of `RunHeadRow`. */
export const HEAD_COLUMNS = `r.key, r.id, r.status, r.epoch, r.turn, r.owner, r.wake_at, r.created_at, r.started_at,
  r.ended_at, r.inbox_last, r.topics, r.base_seq, r.generation, r.claims, r.claim_seq, r.workflow, r.start_id, r.control_id`;

/** A long input lies in a table of its own, so that it is not written again with each change of its run. */
export const RUN_COLUMNS = `${HEAD_COLUMNS}, r.version, r.parent_run, r.parent_location, r.parent_on_close, r.tags, r.wait,
  coalesce(r.input, (SELECT i.input FROM pawl_inputs i WHERE i.run = r.key)) AS input, r.outcome`;

export interface RunHeadRow {
  readonly key: number;
  readonly id: string;
  readonly status: RunHead["status"];
  readonly epoch: number;
  readonly turn: number;
  readonly owner: string | null;
  readonly wake_at: number | null;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly inbox_last: number;
  readonly topics: number;
  readonly base_seq: number;
  readonly generation: number;
  readonly claims: number;
  readonly claim_seq: number;
  readonly workflow: string;
  readonly start_id: string;
  readonly control_id: string | null;
}

export interface RunRow extends RunHeadRow {
  readonly version: number;
  readonly parent_run: string | null;
  readonly parent_location: string;
  readonly parent_on_close: Parent["onClose"];
  readonly tags: string | null;
  readonly wait: string | null;
  readonly input: string | null;
  readonly outcome: string | null;
}

export function headOf(row: RunHeadRow): RunHead {
  return {
    key: row.key,
    id: fromColumn(row.id),
    workflow: fromColumn(row.workflow),
    startId: fromColumn(row.start_id),
    createdAt: row.created_at,
    status: row.status,
    epoch: row.epoch,
    turn: row.turn,
    owner: fromColumnOrNull(row.owner),
    wakeAt: row.wake_at,
    inboxLast: row.inbox_last,
    baseSeq: row.base_seq,
    generation: row.generation,
    claims: row.claims,
    claimSeq: row.claim_seq,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    controlId: fromColumnOrNull(row.control_id),
    topics: row.topics,
  };
}

export function runOf(row: RunRow): Run {
  const { key: _key, controlId: _controlId, topics: _topics, ...head } = headOf(row);
  return {
    ...head,
    version: row.version,
    input: fromColumnOrNull(row.input),
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    parent: parentOf(row),
    wait: waitOf(row.wait),
    outcome: fromColumnOrNull(row.outcome),
  };
}

export function waitOf(column: string | null): Wait | null {
  return column === null ? null : (JSON.parse(column) as Wait);
}

function parentOf(row: RunRow): Parent | null {
  if (row.parent_run === null) return null;
  return {
    runId: fromColumn(row.parent_run),
    location: fromColumn(row.parent_location),
    onClose: row.parent_on_close,
  };
}
