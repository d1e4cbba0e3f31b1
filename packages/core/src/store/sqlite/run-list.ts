import { isTerminal, type Run, STATUSES } from "../../model/run.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { ListQuery, Page, PageQuery } from "../store.ts";
import { fromColumn, toColumn, toColumnOrNull } from "../text-column.ts";
import { prepareAll, type SqliteDatabase, type SqliteStatement, type SqliteValue, type Statements } from "./driver.ts";
import { RUN_COLUMNS, type RunRow, runOfRow } from "./run-columns.ts";

/**
 * Index paths to the runs, each in the order of the list. Their first values are the bounds of `created_at`, which include the cursor, so
 * a later page starts at its first row.
 */
const OPEN = `pawl_runs r INDEXED BY pawl_runs_open WHERE r.ended_at IS NULL AND r.created_at > ? AND r.created_at < ?
  AND r.status IN (SELECT value FROM json_each(?))`;
const BY_END = `pawl_runs r INDEXED BY pawl_runs_ended WHERE r.ended_at IS NOT NULL AND r.created_at > ? AND r.created_at < ?
  AND r.status = ?`;
const BY_WORKFLOW = `pawl_runs r INDEXED BY pawl_runs_workflow WHERE r.created_at > ? AND r.created_at < ? AND r.workflow = ?
  AND r.status IN (SELECT value FROM json_each(?))`;
const BY_TAG = `pawl_tags t JOIN pawl_runs r ON r.key = t.run WHERE t.created_at > ? AND t.created_at < ? AND t.tag = ?
  AND r.status IN (SELECT value FROM json_each(?)) AND (? IS NULL OR r.workflow = ?)`;
const BY_PARENT = `pawl_runs r INDEXED BY pawl_runs_parent WHERE r.created_at > ? AND r.created_at < ? AND r.parent_run = ?`;

const ORDERED = "AND (r.created_at, r.id) < (?, ?) ORDER BY r.created_at DESC, r.id DESC LIMIT ?";
/** Tags have their own copy of the time, because their index is ordered by it. */
const TAG_ORDERED = "AND (t.created_at, r.id) < (?, ?) ORDER BY t.created_at DESC, r.id DESC LIMIT ?";

const SQL = {
  endedOf: "SELECT id FROM pawl_runs WHERE id IN (SELECT value FROM json_each(?)) AND ended_at IS NOT NULL",
  pageOpen: `SELECT ${RUN_COLUMNS} FROM ${OPEN} ${ORDERED}`,
  pageByEnd: `SELECT ${RUN_COLUMNS} FROM ${BY_END} ${ORDERED}`,
  pageByWorkflow: `SELECT ${RUN_COLUMNS} FROM ${BY_WORKFLOW} ${ORDERED}`,
  pageByTag: `SELECT ${RUN_COLUMNS} FROM ${BY_TAG} ${TAG_ORDERED}`,
  pageByParent: `SELECT ${RUN_COLUMNS} FROM ${BY_PARENT} ${ORDERED}`,
  countOpen: `SELECT count(*) AS count FROM ${OPEN}`,
  countByEnd: `SELECT count(*) AS count FROM ${BY_END}`,
  countByWorkflow: `SELECT count(*) AS count FROM ${BY_WORKFLOW}`,
  countByTag: `SELECT count(*) AS count FROM ${BY_TAG}`,
} as const;

type Filter = Omit<ListQuery, "limit" | "cursor">;

/** One index path to some of the runs: the statements that read a page and count, and their values after the bounds. */
interface AccessPath {
  readonly page: SqliteStatement;
  readonly count: SqliteStatement;
  readonly values: readonly SqliteValue[];
}

interface Bounds {
  readonly after: number;
  readonly before: number;
}

/** Lists of runs, newest first. */
export class SqliteRunList {
  readonly #sql: Statements<typeof SQL>;

  constructor(database: SqliteDatabase) {
    this.#sql = prepareAll(database, SQL);
  }

  /** Those of these runs that have ended. */
  ended(runIds: readonly string[]): readonly string[] {
    const rows = this.#sql.endedOf.all(JSON.stringify(runIds.map(toColumn))) as { readonly id: string }[];
    return rows.map(({ id }) => fromColumn(id));
  }

  list(query: ListQuery): Page<Run> {
    return readPage("runs", this.#paths(query), boundsOf(query), query);
  }

  count(query: Filter): number {
    const { after, before } = boundsOf(query);
    let total = 0;
    for (const { count, values } of this.#paths(query)) {
      total += (count.get(after, before, ...values) as { readonly count: number }).count;
    }
    return total;
  }

  children(runId: string, query: PageQuery): Page<Run> {
    return readPage("children", [{ page: this.#sql.pageByParent, values: [toColumn(runId)] }], boundsOf({}), query);
  }

  #paths({ status = STATUSES, workflow, tag }: Filter): readonly AccessPath[] {
    const sql = this.#sql;
    const statuses = JSON.stringify(status);
    if (tag !== undefined) {
      const column = toColumnOrNull(workflow ?? null);
      return [{ page: sql.pageByTag, count: sql.countByTag, values: [toColumn(tag), statuses, column, column] }];
    }
    if (workflow !== undefined) {
      return [{ page: sql.pageByWorkflow, count: sql.countByWorkflow, values: [toColumn(workflow), statuses] }];
    }
    const ended = [...new Set(status.filter(isTerminal))];
    const paths: AccessPath[] = ended.map((one) => ({ page: sql.pageByEnd, count: sql.countByEnd, values: [one] }));
    const open = status.filter((one) => !isTerminal(one));
    if (open.length > 0) paths.push({ page: sql.pageOpen, count: sql.countOpen, values: [JSON.stringify(open)] });
    return paths;
  }
}

function boundsOf({ createdAfter, createdBefore }: Pick<Filter, "createdAfter" | "createdBefore">): Bounds {
  return { after: createdAfter ?? -Number.MAX_SAFE_INTEGER, before: createdBefore ?? Number.MAX_SAFE_INTEGER };
}

/** Each path returns its first rows after the cursor. The page has the newest of them. */
function readPage(
  list: string,
  paths: readonly Pick<AccessPath, "page" | "values">[],
  { after, before }: Bounds,
  { limit, cursor }: PageQuery,
): Page<Run> {
  const [createdAt, id] = readCursor(list, ["number", "string"], cursor) ?? [Number.MAX_SAFE_INTEGER, ""];
  const end = Math.min(before, createdAt + 1);
  const found = paths.flatMap(({ page, values }) =>
    (page.all(after, end, ...values, createdAt, toColumn(id), limit + 1) as RunRow[]).map(runOfRow),
  );
  if (paths.length > 1) found.sort(newestFirst);
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : undefined;
  return { items, cursor: last === undefined ? null : writeCursor(list, [last.createdAt, last.id]) };
}

/** Compares as SQLite does: by time, then by the bytes of the id. */
function newestFirst(left: Run, right: Run): number {
  return right.createdAt - left.createdAt || Buffer.compare(bytesOf(right.id), bytesOf(left.id));
}

function bytesOf(id: string): Buffer {
  return Buffer.from(toColumn(id), "utf8");
}
