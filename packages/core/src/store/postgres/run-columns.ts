import type { NewRun } from "../../model/run.ts";
import { toColumn } from "../text-column.ts";
import { columnArray } from "./array-text.ts";
import type { CreatedColumn, HeadColumn, SavedColumn } from "./schema/commit.ts";
import type { StagedRun } from "./staged-runs.ts";

/** Rows of runs as arguments of a commit function: ids, shared values, and one list per column that differs. */
type RowsValues = readonly [ids: string | null, same: string | null, each: string | null];

export function createdValues(runs: readonly StagedRun[]): RowsValues {
  return rowsValues(runs, CREATED);
}

export function savedValues(runs: readonly StagedRun[]): RowsValues {
  return rowsValues(runs, SAVED);
}

function rowsValues<Name extends string>(
  [first, ...rest]: readonly StagedRun[],
  getters: ColumnGetters<StagedRun, Name>,
): RowsValues {
  if (first === undefined) return [null, null, null];
  const runs = [first, ...rest] as const;
  const { same, each } = columnsOf(runs, getters);
  const ids = columnArray(runs.map(({ head }) => head.id));
  return [ids, JSON.stringify(same), Object.keys(each).length === 0 ? null : JSON.stringify(each)];
}

const HEAD: ColumnGetters<StagedRun, HeadColumn> = {
  undo: ({ head }) => head.undo,
  status: ({ head }) => head.status,
  epoch: ({ head }) => head.epoch,
  turn: ({ head }) => head.turn,
  owner: ({ head }) => columnOf(head.owner),
  wake_at: ({ head }) => head.wakeAt ?? undefined,
  started_at: ({ head }) => head.startedAt ?? undefined,
  ended_at: ({ head }) => head.endedAt ?? undefined,
  inbox_last: ({ head }) => head.inboxLast,
  topics: ({ head }) => head.topics,
  base_seq: ({ head }) => head.baseSeq,
  generation: ({ head }) => head.generation,
  claims: ({ head }) => head.claims,
  claim_seq: ({ head }) => head.claimSeq,
  workflow: ({ head }) => toColumn(head.workflow),
  version: ({ head }) => head.version,
  control_id: ({ head }) => columnOf(head.controlId),
};

const CREATED: ColumnGetters<StagedRun, CreatedColumn> = {
  ...HEAD,
  created_at: ({ head }) => head.createdAt,
  start_id: ({ head }) => toColumn(head.startId),
  parent_run: ({ created }) => columnOf(created?.parent?.runId),
  parent_location: ({ created }) => columnOf(created?.parent?.location),
  parent_on_close: ({ created }) => created?.parent?.onClose,
  tags: ({ created, start }) => tagsOf(start ?? created),
  limits: ({ created, start }) => limitsOf(start ?? created),
  wait: ({ wait }) => (wait === null ? undefined : JSON.stringify(wait)),
  input: ({ created, input }) => columnOf(input === null ? created?.input : input.value),
  outcome: ({ outcome }) => columnOf(outcome?.value),
};

const SAVED: ColumnGetters<StagedRun, SavedColumn> = {
  ...HEAD,
  sets_wait: ({ setsWait }) => setsWait || undefined,
  wait: ({ wait, setsWait }) => (setsWait && wait !== null ? JSON.stringify(wait) : undefined),
  sets_outcome: ({ outcome }) => (outcome === null ? undefined : true),
  outcome: ({ outcome }) => columnOf(outcome?.value),
  sets_input: ({ input }) => (input === null ? undefined : true),
  input: ({ input }) => columnOf(input?.value),
  sets_start: ({ start }) => (start === null ? undefined : true),
  created_at: ({ start }) => start?.createdAt,
  start_id: ({ start }) => columnOf(start?.startId),
  tags: ({ start }) => tagsOf(start),
  limits: ({ start }) => limitsOf(start),
};

function tagsOf(run: NewRun | null): string | undefined {
  return run === null || run.tags.length === 0 ? undefined : JSON.stringify(run.tags);
}

function limitsOf(run: NewRun | null): string | undefined {
  return run?.limits === undefined ? undefined : JSON.stringify(run.limits);
}

function columnOf(text: string | null | undefined): string | undefined {
  return text === null || text === undefined ? undefined : toColumn(text);
}

/** A value of a column. Undefined is not written and is read as NULL. */
export type ColumnValue = string | number | boolean | undefined;

/** Returns the value of each column of a row. */
export type ColumnGetters<Row, Name extends string> = { readonly [name in Name]: (row: Row) => ColumnValue };

/** Rows as columns. */
export interface Columns<Name extends string> {
  /** Values that all rows share. */
  readonly same: { readonly [name in Name]?: ColumnValue };
  /** One list per column that differs. */
  readonly each: { readonly [name in Name]?: readonly ColumnValue[] };
}

export function columnsOf<Row, Name extends string>(
  rows: readonly [Row, ...Row[]],
  getters: ColumnGetters<Row, Name>,
): Columns<Name> {
  const same: { [name in Name]?: ColumnValue } = {};
  const each: { [name in Name]?: readonly ColumnValue[] } = {};
  for (const name in getters) {
    const get = getters[name];
    const value = get(rows[0]);
    if (rows.every((row) => get(row) === value)) same[name] = value;
    else each[name] = rows.map(get);
  }
  return { same, each };
}
