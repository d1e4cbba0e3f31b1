import { isTerminal, STATUSES } from "../../model/run.ts";
import type { ListQuery } from "../store.ts";
import { toColumn } from "../text-column.ts";
import { RUN_JSON } from "./run-json.ts";

/**
 * Lists of runs, newest first. Only what is asked for stands in the statement, and where nothing else leads to the runs, those
 * that are open and those of each end are read by themselves: so each part finds its index, and reads no more than a page.
 */

export type RunFilter = Omit<ListQuery, "limit" | "cursor"> & { readonly parent?: string };

export interface RunStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** `after`: the last run of the page before. */
export function runPage(
  filter: RunFilter,
  after: readonly [createdAt: number, id: string] | null,
  limit: number,
): RunStatement {
  const values = new Values();
  const shared = boundsIn(filter, values);
  if (after !== null) {
    const [createdAt, id] = [values.add(after[0]), values.add(toColumn(after[1]))];
    // The time by itself too: no index has it together with the id.
    shared.push(`r.created_at <= ${createdAt}::bigint`, `(r.created_at, r.id) < (${createdAt}::bigint, ${id}::text)`);
  }
  const newest = `ORDER BY r.created_at DESC, r.id DESC LIMIT ${values.add(limit)}`;
  const parts = waysTo(filter, values).map(
    ({ from, conditions }) => `(SELECT r.* FROM ${from} WHERE ${both(conditions, shared)} ${newest})`,
  );
  const rows = `SELECT r.* FROM (${parts.join(" UNION ALL ")}) AS r ${newest}`;
  const text = `SELECT json_agg(${RUN_JSON} ORDER BY r.created_at DESC, r.id DESC)::text AS json FROM (${rows}) AS r`;
  return { text, values: values.all };
}

export function runCount(filter: RunFilter): RunStatement {
  const values = new Values();
  const shared = boundsIn(filter, values);
  const parts = waysTo(filter, values).map(
    ({ from, conditions }) => `(SELECT count(*) FROM ${from} WHERE ${both(conditions, shared)})`,
  );
  return { text: `SELECT (${parts.join(" + ")})::text AS json`, values: values.all };
}

/** Leads to some of the runs; no run is at the end of two. */
interface Way {
  readonly from: string;
  readonly conditions: readonly string[];
}

function waysTo(filter: RunFilter, values: Values): readonly Way[] {
  const { status, workflow, tag, parent } = filter;
  if (tag === undefined && parent === undefined && workflow === undefined) return waysByStatus(status, values);
  const conditions: string[] = [];
  if (tag !== undefined) conditions.push(`t.tag = ${values.add(toColumn(tag))}`);
  if (parent !== undefined) conditions.push(`r.parent_run = ${values.add(toColumn(parent))}`);
  if (workflow !== undefined) conditions.push(`r.workflow = ${values.add(toColumn(workflow))}`);
  if (status !== undefined) conditions.push(`r.status = ANY (${values.add(status)}::text[])`);
  return [{ from: tag === undefined ? "@.runs r" : "@.tags t JOIN @.runs r ON r.id = t.run_id", conditions }];
}

function waysByStatus(status: RunFilter["status"], values: Values): readonly Way[] {
  const from = "@.runs r";
  const asked = new Set(status ?? STATUSES);
  const ways: Way[] = [...asked]
    .filter(isTerminal)
    .map((end) => ({ from, conditions: ["r.ended_at IS NOT NULL", `r.status = ${values.add(end)}`] }));
  const open = [...asked].filter((one) => !isTerminal(one));
  if (open.length > 0) {
    const which = status === undefined ? [] : [`r.status = ANY (${values.add(open)}::text[])`];
    ways.push({ from, conditions: ["r.ended_at IS NULL", ...which] });
  }
  return ways.length > 0 ? ways : [{ from, conditions: ["false"] }];
}

function boundsIn({ createdAfter, createdBefore }: RunFilter, values: Values): string[] {
  const bounds: string[] = [];
  if (createdAfter !== undefined) bounds.push(`r.created_at > ${values.add(createdAfter)}`);
  if (createdBefore !== undefined) bounds.push(`r.created_at < ${values.add(createdBefore)}`);
  return bounds;
}

function both(conditions: readonly string[], shared: readonly string[]): string {
  return [...conditions, ...shared].join(" AND ");
}

class Values {
  readonly all: unknown[] = [];

  add(value: unknown): string {
    this.all.push(value);
    return `$${this.all.length}`;
  }
}
