import type { DeadLetter, InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { Run } from "../../model/run.ts";
import type { StoredDocument } from "../../model/transition.ts";
import { readCursor, writeCursor } from "../cursor.ts";
import type { DocumentQuery, JournalQuery, ListQuery, Page, PageQuery, Reader, WorkerRow } from "../store.ts";
import { partitionOf } from "./partitions.ts";
import type { RedisStore } from "./redis-store.ts";
import { letterPartition } from "./route-batch.ts";
import { newestFirst } from "./run-list.ts";
import { byWireBytes } from "./wire-text.ts";

/** Positions before the first and after the last letter of a partition. No cursor has these values. */
const START = "";
const END = "-";
const NO_LETTERS: Page<DeadLetter> = { items: [], cursor: null };

/** Reads all partitions, and merges their pages. */
export class PartitionedReader implements Reader {
  readonly #readers: readonly Reader[];

  constructor(partitions: readonly RedisStore[]) {
    this.#readers = partitions.map(({ reader }) => reader);
  }

  get(runId: string): Promise<Run | null> {
    return this.#of(runId).get(runId);
  }

  async list(query: ListQuery): Promise<Page<Run>> {
    const pages = await this.#everywhere((reader) => reader.list(query));
    return runPage("runs", pages, query.limit);
  }

  async count(query: Omit<ListQuery, "limit" | "cursor">): Promise<number> {
    const counts = await this.#everywhere((reader) => reader.count(query));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async children(runId: string, query: PageQuery): Promise<Page<Run>> {
    const pages = await this.#everywhere((reader) => reader.children(runId, query));
    return runPage("children", pages, query.limit);
  }

  journal(runId: string, query: JournalQuery): Promise<readonly JournalRecord[]> {
    return this.#of(runId).journal(runId, query);
  }

  inbox(runId: string): Promise<readonly InboxEntry[]> {
    return this.#of(runId).inbox(runId);
  }

  /** Newest `deadAt` first. Each partition numbers its own letters, so the cursor has one position per partition. */
  async deadLetters({ limit, cursor }: PageQuery): Promise<Page<DeadLetter>> {
    const positions: readonly string[] | null = readCursor(
      "letters of all",
      this.#readers.map(() => "string" as const),
      cursor,
    );
    const read = await Promise.all(
      this.#readers.map(async (reader, index) => {
        const position = positions?.[index] ?? START;
        const page = position === END ? NO_LETTERS : await reader.deadLetters(pageAt(limit, position));
        return { reader, position, page };
      }),
    );
    const all = read.flatMap(({ page }, partition) => page.items.map((letter) => ({ letter, partition })));
    const chosen = all.sort((left, right) => right.letter.deadAt - left.letter.deadAt).slice(0, limit);
    const next = await Promise.all(
      read.map((letters, index) => {
        const taken = chosen.filter(({ partition }) => partition === index).length;
        return positionAfter(letters, taken);
      }),
    );
    const isLast = next.every((position) => position === END);
    return { items: chosen.map(({ letter }) => letter), cursor: isLast ? null : writeCursor("letters of all", next) };
  }

  async deadLetter(id: string): Promise<DeadLetter | null> {
    const partition = letterPartition(id, this.#readers.length);
    if (partition !== null) return (await this.#readers[partition]?.deadLetter(id)) ?? null;
    return first(await this.#everywhere((reader) => reader.deadLetter(id)));
  }

  async documents(query: DocumentQuery): Promise<Page<StoredDocument>> {
    const pages = await this.#everywhere((reader) => reader.documents(query));
    const found = pages.flatMap(({ items }) => items).sort((left, right) => byWireBytes(left.id, right.id));
    const items = found.slice(0, query.limit);
    const isLast = found.length <= query.limit && pages.every(({ cursor }) => cursor === null);
    return { items, cursor: isLast ? null : writeCursor(`documents ${query.kind}`, [items.at(-1)?.id ?? ""]) };
  }

  async document(kind: string, id: string): Promise<StoredDocument | null> {
    return first(await this.#everywhere((reader) => reader.document(kind, id)));
  }

  /** Each partition has its own lease of a worker. The earliest expiry counts: from then on others may take over runs. */
  async workers(): Promise<readonly WorkerRow[]> {
    const rows = new Map<string, WorkerRow>();
    for (const row of (await this.#everywhere((reader) => reader.workers())).flat()) {
      const other = rows.get(row.id);
      if (other === undefined || row.expiresAt < other.expiresAt) rows.set(row.id, row);
    }
    return [...rows.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
  }

  #everywhere<Result>(call: (reader: Reader) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.#readers.map(call));
  }

  #of(runId: string): Reader {
    const reader = this.#readers[partitionOf(runId, this.#readers.length)];
    if (reader === undefined) throw new Error(`partition of run ${runId} not found`);
    return reader;
  }
}

function pageAt(limit: number, position: string): PageQuery {
  return position === START ? { limit } : { limit, cursor: position };
}

/** A page of the dead letters of one partition, and the position that it was read from. */
interface LettersRead {
  readonly reader: Reader;
  readonly position: string;
  readonly page: Page<DeadLetter>;
}

/** The position after the first `taken` letters of a page. */
async function positionAfter({ reader, position, page }: LettersRead, taken: number): Promise<string> {
  if (taken === page.items.length) return page.cursor ?? END;
  if (taken === 0) return position;
  return (await reader.deadLetters(pageAt(taken, position))).cursor ?? END;
}

function runPage(list: string, pages: readonly Page<Run>[], limit: number): Page<Run> {
  const found = pages.flatMap(({ items }) => items).sort(newestFirst);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const isLast = found.length <= limit && pages.every(({ cursor }) => cursor === null);
  return { items, cursor: isLast || last === undefined ? null : writeCursor(list, [last.createdAt, last.id]) };
}

function first<Item>(found: readonly (Item | null)[]): Item | null {
  return found.find((item) => item !== null) ?? null;
}
