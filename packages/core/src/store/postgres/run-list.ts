import type { ListQuery } from "../store.ts";
import { toColumn } from "../text-column.ts";
import { RUN_JSON } from "./run-json.ts";

/** Lists of runs, newest first: only what is asked for stands in the statement, so that it finds its index. */

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
  const conditions = new Conditions(filter);
  if (after !== null) {
    const [createdAt, id] = [conditions.value(after[0]), conditions.value(toColumn(after[1]))];
    conditions.add(`(r.created_at, r.id) < (${createdAt}::bigint, ${id}::text)`);
  }
  const rows = `SELECT r.* FROM ${conditions.from} WHERE ${conditions.text}
    ORDER BY r.created_at DESC, r.id DESC LIMIT ${conditions.value(limit)}`;
  const text = `SELECT json_agg(${RUN_JSON} ORDER BY r.created_at DESC, r.id DESC)::text AS json FROM (${rows}) AS r`;
  return { text, values: conditions.values };
}

export function runCount(filter: RunFilter): RunStatement {
  const conditions = new Conditions(filter);
  const text = `SELECT count(*)::text AS json FROM ${conditions.from} WHERE ${conditions.text}`;
  return { text, values: conditions.values };
}

class Conditions {
  readonly values: unknown[] = [];
  readonly from: string;
  readonly #parts: string[] = ["true"];

  constructor({ status, workflow, tag, parent, createdAfter, createdBefore }: RunFilter) {
    this.from = tag === undefined ? "@.runs r" : "@.tags t JOIN @.runs r ON r.id = t.run_id";
    if (tag !== undefined) this.add(`t.tag = ${this.value(toColumn(tag))}`);
    if (parent !== undefined) this.add(`r.parent_run = ${this.value(toColumn(parent))}`);
    if (workflow !== undefined) this.add(`r.workflow = ${this.value(toColumn(workflow))}`);
    if (status !== undefined) this.add(`r.status = ANY (${this.value(status)}::text[])`);
    if (createdAfter !== undefined) this.add(`r.created_at > ${this.value(createdAfter)}`);
    if (createdBefore !== undefined) this.add(`r.created_at < ${this.value(createdBefore)}`);
  }

  get text(): string {
    return this.#parts.join(" AND ");
  }

  add(condition: string): void {
    this.#parts.push(condition);
  }

  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}
