import type { DeadLetter, InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import { isTerminal, type Run, STATUSES } from "../../model/run.ts";
import type { StoredDocument } from "../../model/transition.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { DocumentQuery, JournalQuery, ListQuery, Page, PageQuery, Reader, WorkerRow } from "../store.ts";
import { fromColumn, toColumn, toColumnOrNull } from "../text-column.ts";
import { batchedRuns } from "./batched-reads.ts";
import type { Database } from "./database.ts";
import {
  type DocumentColumns,
  documentOf,
  type EntryValues,
  entryOf,
  type LetterColumns,
  letterOf,
  type RecordValues,
  type RunValues,
  recordOf,
  runOfValues,
} from "./run-rows.ts";
import { RUN_JSON } from "./schema/row-json.ts";
import { STORE_SQL } from "./statements.ts";

export class PostgresReader implements Reader {
  readonly #database: Database;
  readonly #runs: ReturnType<typeof batchedRuns>;

  constructor(database: Database) {
    this.#database = database;
    this.#runs = batchedRuns(database);
  }

  get(runId: string): Promise<Run | null> {
    return this.#runs.read(runId);
  }

  list({ limit, cursor, ...filter }: ListQuery): Promise<Page<Run>> {
    return this.#page("runs", filter, { limit, ...(cursor === undefined ? {} : { cursor }) });
  }

  async count(query: Omit<ListQuery, "limit" | "cursor">): Promise<number> {
    const { text, values } = runCount(query);
    return (await this.#one<number>(text, values)) ?? 0;
  }

  async journal(runId: string, { afterSeq, limit, newestFirst }: JournalQuery): Promise<readonly JournalRecord[]> {
    const text = newestFirst === true ? STORE_SQL.journalDown : STORE_SQL.journal;
    return (await this.#all<RecordValues>(text, [toColumn(runId), afterSeq, limit])).map(recordOf);
  }

  async inbox(runId: string): Promise<readonly InboxEntry[]> {
    return (await this.#all<EntryValues>(STORE_SQL.inbox, [toColumn(runId)])).map(entryOf);
  }

  children(runId: string, query: PageQuery): Promise<Page<Run>> {
    return this.#page("children", { parent: runId }, query);
  }

  async deadLetters({ limit, cursor }: PageQuery): Promise<Page<DeadLetter>> {
    const [below] = readCursor("letters", ["number"], cursor) ?? [Number.MAX_SAFE_INTEGER];
    const rows = await this.#all<LetterColumns>(STORE_SQL.letters, [below, limit + 1]);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return {
      items: rows.slice(0, limit).map(deadLetterOf),
      cursor: last === undefined ? null : writeCursor("letters", [last.n]),
    };
  }

  async deadLetter(id: string): Promise<DeadLetter | null> {
    const row = await this.#one<LetterColumns>(STORE_SQL.letter, [toColumn(id)]);
    return row === null ? null : deadLetterOf(row);
  }

  async documents({ kind, where = {}, limit, cursor }: DocumentQuery): Promise<Page<StoredDocument>> {
    const after = readCursor(`documents ${kind}`, ["string"], cursor)?.[0] ?? null;
    const wanted = [where.a, where.b, where.c, where.d].map((value) => toColumnOrNull(value ?? null));
    const values = [toColumn(kind), toColumnOrNull(after), ...wanted, limit + 1];
    const found = (await this.#all<DocumentColumns>(STORE_SQL.documents, values)).map(documentOf);
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    return { items, cursor: last === undefined ? null : writeCursor(`documents ${kind}`, [last.id]) };
  }

  async document(kind: string, id: string): Promise<StoredDocument | null> {
    const row = await this.#one<DocumentColumns>(STORE_SQL.document, [toColumn(kind), toColumn(id)]);
    return row === null ? null : documentOf(row);
  }

  async workers(): Promise<readonly WorkerRow[]> {
    const rows = await this.#all<readonly [string, number, string | null]>(STORE_SQL.workers, []);
    return rows.map(([id, expiresAt, workflows]) => ({
      id: fromColumn(id),
      expiresAt,
      workflows: workflows === null ? [] : (JSON.parse(workflows) as WorkerRow["workflows"]),
    }));
  }

  async #page(list: string, filter: RunFilter, { limit, cursor }: PageQuery): Promise<Page<Run>> {
    const after = readCursor(list, ["number", "string"], cursor);
    const { text, values } = runPage(filter, after, limit + 1);
    const found = (await this.#all<RunValues>(text, values)).map(runOfValues);
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    return { items, cursor: last === undefined ? null : writeCursor(list, [last.createdAt, last.id]) };
  }

  async #one<Row>(text: string, values: readonly unknown[]): Promise<Row | null> {
    return (await this.#database.call(text, values)) as Row | null;
  }

  async #all<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#one<readonly Row[]>(text, values)) ?? [];
  }
}

function deadLetterOf(row: LetterColumns): DeadLetter {
  const { postId: _postId, ...letter } = letterOf(row);
  return letter;
}

/**
 * Lists of runs, newest first. The statement contains only the requested filters. Without another filter, open runs and runs of each
 * terminal status are read separately, so each part uses its index and reads no more than a page.
 */

export type RunFilter = Omit<ListQuery, "limit" | "cursor"> & { readonly parent?: string };

export interface RunStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** `after` is the last run of the previous page. */
export function runPage(
  filter: RunFilter,
  after: readonly [createdAt: number, id: string] | null,
  limit: number,
): RunStatement {
  const values = new Parameters();
  const shared = boundsIn(filter, values);
  if (after !== null) {
    const [createdAt, id] = [values.add(after[0]), values.add(toColumn(after[1]))];
    // The time is also compared alone, because no index contains the id.
    shared.push(`r.created_at <= ${createdAt}::bigint`, `(r.created_at, r.id) < (${createdAt}::bigint, ${id}::text)`);
  }
  const newest = `ORDER BY r.created_at DESC, r.id DESC LIMIT ${values.add(limit)}`;
  const parts = accessPaths(filter, values).map(
    ({ from, conditions }) => `(SELECT r.* FROM ${from} WHERE ${both(conditions, shared)} ${newest})`,
  );
  const rows = `SELECT r.* FROM (${parts.join(" UNION ALL ")}) AS r ${newest}`;
  const text = `SELECT json_agg(${RUN_JSON} ORDER BY r.created_at DESC, r.id DESC)::text AS json FROM (${rows}) AS r`;
  return { text, values: values.all };
}

export function runCount(filter: RunFilter): RunStatement {
  const values = new Parameters();
  const shared = boundsIn(filter, values);
  const parts = accessPaths(filter, values).map(
    ({ from, conditions }) => `(SELECT count(*) FROM ${from} WHERE ${both(conditions, shared)})`,
  );
  return { text: `SELECT (${parts.join(" + ")})::text AS json`, values: values.all };
}

/** One index path to some of the runs. No run is on two paths. */
interface AccessPath {
  readonly from: string;
  readonly conditions: readonly string[];
}

function accessPaths(filter: RunFilter, values: Parameters): readonly AccessPath[] {
  const { status, workflow, tag, parent } = filter;
  if (tag === undefined && parent === undefined && workflow === undefined) return pathsByStatus(status, values);
  const conditions: string[] = [];
  if (tag !== undefined) conditions.push(`t.tag = ${values.add(toColumn(tag))}`);
  if (parent !== undefined) conditions.push(`r.parent_run = ${values.add(toColumn(parent))}`);
  if (workflow !== undefined) conditions.push(`r.workflow = ${values.add(toColumn(workflow))}`);
  if (status !== undefined) conditions.push(`r.status = ANY (${values.add(status)}::text[])`);
  return [{ from: tag === undefined ? "@.runs r" : "@.tags t JOIN @.runs r ON r.id = t.run_id", conditions }];
}

function pathsByStatus(status: RunFilter["status"], values: Parameters): readonly AccessPath[] {
  const from = "@.runs r";
  const requested = new Set(status ?? STATUSES);
  const paths: AccessPath[] = [...requested]
    .filter(isTerminal)
    .map((end) => ({ from, conditions: ["r.ended_at IS NOT NULL", `r.status = ${values.add(end)}`] }));
  const open = [...requested].filter((one) => !isTerminal(one));
  if (open.length > 0) {
    const which = status === undefined ? [] : [`r.status = ANY (${values.add(open)}::text[])`];
    paths.push({ from, conditions: ["r.ended_at IS NULL", ...which] });
  }
  return paths.length > 0 ? paths : [{ from, conditions: ["false"] }];
}

function boundsIn({ createdAfter, createdBefore }: RunFilter, values: Parameters): string[] {
  const bounds: string[] = [];
  if (createdAfter !== undefined) bounds.push(`r.created_at > ${values.add(createdAfter)}`);
  if (createdBefore !== undefined) bounds.push(`r.created_at < ${values.add(createdBefore)}`);
  return bounds;
}

function both(conditions: readonly string[], shared: readonly string[]): string {
  return [...conditions, ...shared].join(" AND ");
}

class Parameters {
  readonly all: unknown[] = [];

  add(value: unknown): string {
    this.all.push(value);
    return `$${this.all.length}`;
  }
}
