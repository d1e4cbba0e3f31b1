import { isTerminal, type Run, STATUSES, type Status } from "../../model/run.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { ListQuery, Page, PageQuery } from "../store.ts";
import {
  prepareAll,
  type SqliteDatabase,
  type SqliteStatement,
  type SqliteValue,
  type Statements,
} from "./database.ts";
import { RUN_COLUMNS, type RunRow, runOfRow } from "./run-columns.ts";
import { toColumn, toColumnOrNull } from "./text.ts";

/** Ways to the runs, each an index in the order of the list. */
const BY_TAG = "pawl_tags t JOIN pawl_runs r ON r.key = t.run WHERE t.tag = ?";
const BY_WORKFLOW = "pawl_runs r INDEXED BY pawl_runs_workflow WHERE r.workflow = ?";
const BY_END = "pawl_runs r INDEXED BY pawl_runs_ended WHERE r.status = ? AND r.ended_at IS NOT NULL";
const OPEN = "pawl_runs r INDEXED BY pawl_runs_open WHERE r.ended_at IS NULL";
const BY_PARENT = "pawl_runs r INDEXED BY pawl_runs_parent WHERE r.parent_run = ?";

const NARROWED = `AND r.created_at > ? AND r.created_at < ? AND (? IS NULL OR r.workflow = ?)
  AND r.status IN (SELECT value FROM json_each(?))`;
const ORDERED = "AND (r.created_at, r.id) < (?, ?) ORDER BY r.created_at DESC, r.id DESC LIMIT ?";
/** Tags have their own copy of the time, which their index is ordered by. */
const TAG_ORDERED = "AND (t.created_at, r.id) < (?, ?) ORDER BY t.created_at DESC, r.id DESC LIMIT ?";

const SQL = {
  pageByTag: `SELECT ${RUN_COLUMNS} FROM ${BY_TAG} ${NARROWED} ${TAG_ORDERED}`,
  pageByWorkflow: `SELECT ${RUN_COLUMNS} FROM ${BY_WORKFLOW} ${NARROWED} ${ORDERED}`,
  pageByEnd: `SELECT ${RUN_COLUMNS} FROM ${BY_END} ${NARROWED} ${ORDERED}`,
  pageOpen: `SELECT ${RUN_COLUMNS} FROM ${OPEN} ${NARROWED} ${ORDERED}`,
  pageByParent: `SELECT ${RUN_COLUMNS} FROM ${BY_PARENT} ${ORDERED}`,
  countByTag: `SELECT count(*) AS count FROM ${BY_TAG} ${NARROWED}`,
  countByWorkflow: `SELECT count(*) AS count FROM ${BY_WORKFLOW} ${NARROWED}`,
  countByEnd: `SELECT count(*) AS count FROM ${BY_END} ${NARROWED}`,
  countOpen: `SELECT count(*) AS count FROM ${OPEN} ${NARROWED}`,
} as const;

type Filter = Omit<ListQuery, "limit" | "cursor">;

/** One way to some of the runs: how to read a page of them and how to count them. */
interface Way {
  readonly page: SqliteStatement;
  readonly count: SqliteStatement;
  readonly values: readonly SqliteValue[];
}

/** Lists of runs, newest first. */
export class SqliteRunList {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  list(query: ListQuery): Page<Run> {
    const pages = this.#ways(query).map(({ page, values }) => ({ statement: page, values }));
    return readPage("runs", pages, query);
  }

  count(query: Filter): number {
    let total = 0;
    for (const { count, values } of this.#ways(query)) {
      total += (count.get(...values) as { readonly count: number }).count;
    }
    return total;
  }

  children(runId: string, query: PageQuery): Page<Run> {
    return readPage("children", [{ statement: this.#sql.pageByParent, values: [toColumn(runId)] }], query);
  }

  #ways({ status = STATUSES, workflow, tag, createdAfter, createdBefore }: Filter): readonly Way[] {
    const narrowed = (statuses: readonly Status[], name: string | undefined): readonly SqliteValue[] => {
      const column = toColumnOrNull(name ?? null);
      const after = createdAfter ?? -Number.MAX_SAFE_INTEGER;
      return [after, createdBefore ?? Number.MAX_SAFE_INTEGER, column, column, JSON.stringify(statuses)];
    };
    const sql = this.#sql;
    if (tag !== undefined) {
      return [{ page: sql.pageByTag, count: sql.countByTag, values: [toColumn(tag), ...narrowed(status, workflow)] }];
    }
    if (workflow !== undefined) {
      const values = [toColumn(workflow), ...narrowed(status, undefined)];
      return [{ page: sql.pageByWorkflow, count: sql.countByWorkflow, values }];
    }
    const ended = [...new Set(status.filter(isTerminal))].map((one) => {
      return { page: sql.pageByEnd, count: sql.countByEnd, values: [one, ...narrowed([one], undefined)] };
    });
    const open = status.filter((one) => !isTerminal(one));
    if (open.length === 0) return ended;
    return [...ended, { page: sql.pageOpen, count: sql.countOpen, values: narrowed(open, undefined) }];
  }
}

/** Each way gives its first rows after the cursor; the page is the newest of them all. */
function readPage(
  list: string,
  ways: readonly { readonly statement: SqliteStatement; readonly values: readonly SqliteValue[] }[],
  { limit, cursor }: PageQuery,
): Page<Run> {
  const [createdAt, id] = readCursor(list, ["number", "string"], cursor) ?? [Number.MAX_SAFE_INTEGER, ""];
  const found = ways.flatMap(({ statement, values }) =>
    (statement.all(...values, createdAt, toColumn(id), limit + 1) as RunRow[]).map(runOfRow),
  );
  if (ways.length > 1) found.sort(newestFirst);
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  return { items, cursor: last === undefined ? null : writeCursor(list, [last.createdAt, last.id]) };
}

/** As SQLite compares: by time, then by the bytes of the id. */
function newestFirst(left: Run, right: Run): number {
  return right.createdAt - left.createdAt || Buffer.compare(bytesOf(right.id), bytesOf(left.id));
}

function bytesOf(id: string): Buffer {
  return Buffer.from(toColumn(id), "utf8");
}
