import type { Parent, Run, StartLimits, Wait } from "../../model/run.ts";
import { runOf } from "../../rules/run-head.ts";
import type { RunHead } from "../../rules/tables.ts";
import { fromColumn, fromColumnOrNull } from "../text-column.ts";

/** A run's head as one column, in the order of `HeadValues`. One text is read faster than many columns. */
export const HEAD_COLUMN = `json_array(r.key, r.id, r.status, r.epoch, r.turn, r.owner, r.wake_at, r.created_at, r.started_at,
  r.ended_at, r.inbox_last, r.topics, r.base_seq, r.generation, r.claims, r.claim_seq, r.workflow, r.version, r.start_id,
  r.control_id, r.undo) AS head`;

/** A long input is stored in a separate table, so that it is not rewritten with each change of its run. */
export const RUN_COLUMNS = `${HEAD_COLUMN}, r.parent_run, r.parent_location, r.parent_on_close, r.tags, r.limits, r.wait,
  coalesce(r.input, (SELECT i.input FROM pawl_inputs i WHERE i.run = r.key)) AS input, r.outcome`;

export interface HeadRow {
  readonly head: string;
}

type HeadValues = readonly [
  key: number,
  id: string,
  status: RunHead["status"],
  epoch: number,
  turn: number,
  owner: string | null,
  wakeAt: number | null,
  createdAt: number,
  startedAt: number | null,
  endedAt: number | null,
  inboxLast: number,
  topics: number,
  baseSeq: number,
  generation: number,
  claims: number,
  claimSeq: number,
  workflow: string,
  version: number,
  startId: string,
  controlId: string | null,
  undo: RunHead["undo"],
];

export interface RunRow extends HeadRow {
  readonly parent_run: string | null;
  readonly parent_location: string;
  readonly parent_on_close: Parent["onClose"];
  readonly tags: string | null;
  readonly limits: string | null;
  readonly wait: string | null;
  readonly input: string | null;
  readonly outcome: string | null;
}

export function headOf({ head }: HeadRow): RunHead {
  const [key, id, status, epoch, turn, owner, wakeAt, createdAt, startedAt, endedAt, ...rest] = JSON.parse(
    head,
  ) as HeadValues;
  const [inboxLast, topics, baseSeq, generation, claims, claimSeq, workflow, version, startId, controlId, undo] = rest;
  return {
    key,
    id: fromColumn(id),
    workflow: fromColumn(workflow),
    version,
    startId: fromColumn(startId),
    createdAt,
    status,
    epoch,
    turn,
    owner: fromColumnOrNull(owner),
    wakeAt,
    inboxLast,
    baseSeq,
    generation,
    claims,
    claimSeq,
    startedAt,
    endedAt,
    undo,
    controlId: fromColumnOrNull(controlId),
    topics,
  };
}

export function runOfRow(row: RunRow): Run {
  return runOf(headOf(row), {
    input: fromColumnOrNull(row.input),
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    parent: parentOf(row),
    wait: waitOf(row.wait),
    outcome: fromColumnOrNull(row.outcome),
    ...(row.limits === null ? {} : { limits: JSON.parse(row.limits) as StartLimits }),
  });
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
