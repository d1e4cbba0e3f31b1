import type { DeadLetter, InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { Run } from "../../model/run.ts";
import type { StoredDocument } from "../../model/transition.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { DocumentQuery, JournalQuery, ListQuery, Page, PageQuery, Reader, WorkerRow } from "../store.ts";
import { fromColumn, toColumn, toColumnOrNull } from "../text-column.ts";
import type { Database } from "./database.ts";
import { gatheredRuns } from "./loads.ts";
import { type RunFilter, runCount, runPage } from "./run-list.ts";
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
import { STORE_SQL } from "./store-sql.ts";

export class PostgresReader implements Reader {
  readonly #database: Database;
  readonly #runs: ReturnType<typeof gatheredRuns>;

  constructor(database: Database) {
    this.#database = database;
    this.#runs = gatheredRuns(database);
  }

  get(runId: string): Promise<Run | null> {
    return this.#runs.ask(runId);
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
