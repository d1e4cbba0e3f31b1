import type { DeadLetter, InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { Run } from "../../model/run.ts";
import type { StoredDocument } from "../../model/transition.ts";
import type { LetterRow } from "../../rules/tables.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { DocumentQuery, JournalQuery, ListQuery, Page, PageQuery, Reader, WorkerRow } from "../store.ts";
import { type MemoryRun, runOfMemory } from "./memory-run.ts";
import type { MemoryTables } from "./memory-tables.ts";

export class MemoryReader implements Reader {
  readonly #tables: MemoryTables;

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  async get(runId: string): Promise<Run | null> {
    return this.#tables.runs.get(runId);
  }

  async list(query: ListQuery): Promise<Page<Run>> {
    return pageOfRuns("runs", this.#select(query), query);
  }

  async count(query: Omit<ListQuery, "limit" | "cursor">): Promise<number> {
    return this.#select(query).length;
  }

  async journal(runId: string, query: JournalQuery): Promise<readonly JournalRecord[]> {
    const { afterSeq, limit, newestFirst = false } = query;
    const records = this.#tables.memoryRuns.get(runId)?.journal;
    if (records === undefined) return [];
    if (!newestFirst) return records.after(afterSeq, limit);
    return records.after(Math.max(afterSeq, records.afterSeqOfLast(limit))).reverse();
  }

  async inbox(runId: string): Promise<readonly InboxEntry[]> {
    return [...(this.#tables.memoryRuns.get(runId)?.inbox.values() ?? [])];
  }

  async children(runId: string, query: PageQuery): Promise<Page<Run>> {
    return pageOfRuns("children", this.#tables.runs.children(runId), query);
  }

  async deadLetters({ limit, cursor }: PageQuery): Promise<Page<DeadLetter>> {
    const [below] = readCursor("letters", ["number"], cursor) ?? [Number.POSITIVE_INFINITY];
    const rows = this.#tables.letters.below(below, limit + 1);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return {
      items: rows.slice(0, limit).map(({ letter }) => deadLetterOf(letter)),
      cursor: last === undefined ? null : writeCursor("letters", [last.n]),
    };
  }

  async deadLetter(id: string): Promise<DeadLetter | null> {
    const letter = this.#tables.letters.get(id);
    return letter === null ? null : deadLetterOf(letter);
  }

  async documents({ kind, where = {}, limit, cursor }: DocumentQuery): Promise<Page<StoredDocument>> {
    const after = readCursor(`documents ${kind}`, ["string"], cursor)?.[0] ?? null;
    const wanted = Object.entries(where);
    const found = this.#tables.documents
      .ofKind(kind)
      .filter(({ id }) => after === null || id > after)
      .filter(({ attributes }) => wanted.every(([name, value]) => attributes[name as "a"] === value))
      .sort((left, right) => (left.id < right.id ? -1 : 1));
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    return { items, cursor: last === undefined ? null : writeCursor(`documents ${kind}`, [last.id]) };
  }

  async document(kind: string, id: string): Promise<StoredDocument | null> {
    return this.#tables.documents.get(kind, id);
  }

  async workers(): Promise<readonly WorkerRow[]> {
    return [...this.#tables.workers.rows.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
  }

  #select({ status, workflow, tag, createdAfter, createdBefore }: Omit<ListQuery, "limit" | "cursor">): MemoryRun[] {
    return [...this.#tables.memoryRuns.values()].filter(
      ({ head, tags }) =>
        (status === undefined || status.includes(head.status)) &&
        (workflow === undefined || head.workflow === workflow) &&
        (tag === undefined || tags.includes(tag)) &&
        (createdAfter === undefined || head.createdAt > createdAfter) &&
        (createdBefore === undefined || head.createdAt < createdBefore),
    );
  }
}

/** Newest first by (createdAt, id). */
function pageOfRuns(list: string, memoryRuns: readonly MemoryRun[], { limit, cursor }: PageQuery): Page<Run> {
  const place = readCursor(list, ["number", "string"], cursor);
  const rest = place === null ? [...memoryRuns] : memoryRuns.filter(({ head }) => isOlder(head, place));
  rest.sort((left, right) => (isOlder(left.head, [right.head.createdAt, right.head.id]) ? 1 : -1));
  const items = rest.slice(0, limit);
  const last = rest.length > limit ? items.at(-1)?.head : undefined;
  return {
    items: items.map(runOfMemory),
    cursor: last === undefined ? null : writeCursor(list, [last.createdAt, last.id]),
  };
}

function isOlder(head: { createdAt: number; id: string }, [createdAt, id]: readonly [number, string]): boolean {
  return head.createdAt < createdAt || (head.createdAt === createdAt && head.id < id);
}

function deadLetterOf({ postId: _postId, ...letter }: LetterRow): DeadLetter {
  return letter;
}
