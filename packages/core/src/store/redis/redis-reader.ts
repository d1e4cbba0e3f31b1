import type { DeadLetter, InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { Run } from "../../model/run.ts";
import type { StoredDocument } from "../../model/transition.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { DocumentQuery, JournalQuery, ListQuery, Page, PageQuery, Reader, WorkerRow } from "../store.ts";
import {
  type DocumentReply,
  type EntryReply,
  type LetterReply,
  type RunReply,
  readDocument,
  readEntry,
  readLetter,
  readRecords,
  readRun,
} from "./decode-reply.ts";
import { type Read, RedisRunList } from "./run-list.ts";
import { fromWire, toWire } from "./wire-text.ts";

/** How many documents one script call returns, before they are filtered. */
const DOCUMENTS_READ = 200;

export class RedisReader implements Reader {
  readonly #read: Read;
  readonly #list: RedisRunList;

  constructor(read: Read) {
    this.#read = read;
    this.#list = new RedisRunList(read);
  }

  async get(runId: string): Promise<Run | null> {
    const reply = (await this.#read("get", [toWire(runId)])) as RunReply | null;
    return reply === null ? null : readRun(reply);
  }

  list(query: ListQuery): Promise<Page<Run>> {
    return this.#list.list(query);
  }

  count(query: Omit<ListQuery, "limit" | "cursor">): Promise<number> {
    return this.#list.count(query);
  }

  children(runId: string, query: PageQuery): Promise<Page<Run>> {
    return this.#list.children(runId, query);
  }

  async journal(runId: string, query: JournalQuery): Promise<readonly JournalRecord[]> {
    const { afterSeq, limit, newestFirst = false } = query;
    const args = [toWire(runId), String(afterSeq), String(limit), newestFirst ? "1" : "0"];
    return readRecords((await this.#read("journal", args)) as readonly string[]);
  }

  async inbox(runId: string): Promise<readonly InboxEntry[]> {
    return ((await this.#read("inbox", [toWire(runId)])) as readonly EntryReply[]).map(readEntry);
  }

  async deadLetters({ limit, cursor }: PageQuery): Promise<Page<DeadLetter>> {
    const [below] = readCursor("letters", ["number"], cursor) ?? [null];
    const reply = await this.#read("letters", [below === null ? "+inf" : `(${below}`, String(limit + 1)]);
    const rows = reply as readonly (readonly [n: string, letter: LetterReply])[];
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return {
      items: rows.slice(0, limit).map(([, letter]) => readLetter(letter)),
      cursor: last === undefined ? null : writeCursor("letters", [Number(last[0])]),
    };
  }

  async deadLetter(id: string): Promise<DeadLetter | null> {
    const reply = (await this.#read("letter", [toWire(id)])) as LetterReply | null;
    return reply === null ? null : readLetter(reply);
  }

  /** The index of the first attribute in `where` finds candidates. The other attributes filter them. */
  async documents({ kind, where = {}, limit, cursor }: DocumentQuery): Promise<Page<StoredDocument>> {
    const list = `documents ${kind}`;
    const wanted = Object.entries(where);
    const [name, value] = wanted[0] ?? ["", ""];
    let after = readCursor(list, ["string"], cursor)?.[0] ?? null;
    const items: StoredDocument[] = [];
    for (;;) {
      const from = after === null ? "-" : `(${toWire(after)}`;
      const reply = await this.#read("documents", [toWire(kind), name, toWire(value), from, String(DOCUMENTS_READ)]);
      const found = (reply as readonly DocumentReply[]).map(readDocument);
      for (const document of found) {
        if (!wanted.every(([other, text]) => document.attributes[other as "a"] === text)) continue;
        if (items.length === limit) return { items, cursor: writeCursor(list, [items.at(-1)?.id ?? ""]) };
        items.push(document);
      }
      if (found.length < DOCUMENTS_READ) return { items, cursor: null };
      after = found.at(-1)?.id ?? null;
    }
  }

  async document(kind: string, id: string): Promise<StoredDocument | null> {
    const reply = (await this.#read("document", [toWire(kind), toWire(id)])) as DocumentReply | null;
    return reply === null ? null : readDocument(reply);
  }

  async workers(): Promise<readonly WorkerRow[]> {
    const rows = (await this.#read("workers", [])) as readonly (readonly [string, string, string | null])[];
    return rows
      .map(([id, expiresAt, workflows]) => ({
        id: fromWire(id),
        expiresAt: Number(expiresAt),
        workflows: JSON.parse(workflows ?? "[]") as readonly WorkflowRef[],
      }))
      .sort((left, right) => (left.id < right.id ? -1 : 1));
  }
}
