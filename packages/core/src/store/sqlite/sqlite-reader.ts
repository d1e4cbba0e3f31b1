import type { DeadLetter, InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { Run } from "../../model/run.ts";
import type { StoredDocument } from "../../model/transition.ts";
import type { LetterRow } from "../../rules/tables.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { DocumentQuery, JournalQuery, ListQuery, Page, PageQuery, Reader, WorkerRow } from "../store.ts";
import type { SqliteFile } from "./sqlite-file.ts";

export class SqliteReader implements Reader {
  readonly #file: SqliteFile;

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  async get(runId: string): Promise<Run | null> {
    return this.#file.readOne((tables) => tables.runs.get(runId));
  }

  async ended(runIds: readonly string[]): Promise<readonly string[]> {
    return this.#file.readOne((tables) => tables.list.ended(runIds));
  }

  async list(query: ListQuery): Promise<Page<Run>> {
    return this.#file.read((tables) => tables.list.list(query));
  }

  async count(query: Omit<ListQuery, "limit" | "cursor">): Promise<number> {
    return this.#file.read((tables) => tables.list.count(query));
  }

  async journal(runId: string, query: JournalQuery): Promise<readonly JournalRecord[]> {
    const { afterSeq, limit, newestFirst = false } = query;
    return this.#file.read((tables) => {
      const head = tables.runs.head(runId);
      if (head === null) return [];
      return newestFirst
        ? tables.pages.newestAfter(head.key, afterSeq, limit)
        : [...tables.pages.after(head.key, afterSeq, limit).records];
    });
  }

  async inbox(runId: string): Promise<readonly InboxEntry[]> {
    return this.#file.read((tables) => {
      const head = tables.runs.head(runId);
      return head === null ? [] : tables.inbox.open(head);
    });
  }

  async children(runId: string, query: PageQuery): Promise<Page<Run>> {
    return this.#file.readOne((tables) => tables.list.children(runId, query));
  }

  async deadLetters({ limit, cursor }: PageQuery): Promise<Page<DeadLetter>> {
    const [below] = readCursor("letters", ["number"], cursor) ?? [Number.MAX_SAFE_INTEGER];
    const rows = this.#file.readOne((tables) => tables.letters.below(below, limit + 1));
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return {
      items: rows.slice(0, limit).map(({ letter }) => deadLetterOf(letter)),
      cursor: last === undefined ? null : writeCursor("letters", [last.n]),
    };
  }

  async deadLetter(id: string): Promise<DeadLetter | null> {
    const letter = this.#file.readOne((tables) => tables.letters.get(id));
    return letter === null ? null : deadLetterOf(letter);
  }

  /** Reads after the id of the previous page's last document, which may have been removed. */
  async documents({ kind, where = {}, limit, cursor }: DocumentQuery): Promise<Page<StoredDocument>> {
    const after = readCursor(`documents ${kind}`, ["string"], cursor)?.[0] ?? null;
    const query = { kind, where, from: after ?? "", limit: limit + 2 };
    const found = this.#file.readOne((tables) => tables.documents.list(query)).filter(({ id }) => id !== after);
    const items = found.slice(0, limit);
    const last = found.length > limit ? items.at(-1) : undefined;
    return { items, cursor: last === undefined ? null : writeCursor(`documents ${kind}`, [last.id]) };
  }

  async document(kind: string, id: string): Promise<StoredDocument | null> {
    return this.#file.readOne((tables) => tables.documents.get(kind, id));
  }

  async workers(): Promise<readonly WorkerRow[]> {
    return this.#file.readOne((tables) => tables.workers.all());
  }
}

function deadLetterOf({ postId: _postId, ...letter }: LetterRow): DeadLetter {
  return letter;
}
