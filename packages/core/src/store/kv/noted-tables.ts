import { createCodec } from "../../model/payload.ts";
import {
  CANCELLED_DOCUMENT,
  type DocumentAttributes,
  type InTransaction,
  OPEN_DOCUMENT,
  type StoredDocument,
} from "../../model/transition.ts";
import type {
  DeliverableQuery,
  DocumentTable,
  EventRow,
  EventTable,
  LetterRow,
  LetterTable,
  Tables,
  WorkerTable,
} from "../tables.ts";
import type { TransactionEnd } from "../tx-desk.ts";
import { KEYS } from "./keys.ts";
import { NotedInboxTable, NotedJournalTable, NotedTopicTable } from "./noted-belongings.ts";
import type { NotedRows } from "./noted-rows.ts";
import { NotedRunTable } from "./noted-run-table.ts";

/** What transactions keep is stored as any other value, of whatever size. */
export const DATA_CODEC = createCodec(null, {
  bytesMax: Number.MAX_SAFE_INTEGER,
  warnBytes: Number.MAX_SAFE_INTEGER,
  onLarge: () => undefined,
});

/** The tables in memory; each change of them is noted. Workers live as long as their process, so nothing is noted of them. */
export class NotedTables implements Tables {
  readonly runs: NotedRunTable;
  readonly journal: NotedJournalTable;
  readonly inbox: NotedInboxTable;
  readonly topics: NotedTopicTable;
  readonly events: EventTable;
  readonly letters: LetterTable;
  readonly documents: DocumentTable;
  readonly workers: WorkerTable;
  readonly #rows: NotedRows;

  constructor(rows: NotedRows) {
    this.#rows = rows;
    this.runs = new NotedRunTable(rows);
    this.journal = new NotedJournalTable(rows);
    this.inbox = new NotedInboxTable(rows);
    this.topics = new NotedTopicTable(rows);
    this.events = new NotedEventTable(rows);
    this.letters = new NotedLetterTable(rows);
    this.documents = new NotedDocumentTable(rows);
    this.workers = rows.memory.workers;
  }

  transact(code: InTransaction): TransactionEnd {
    const { memory, notes } = this.#rows;
    return memory.transactNoting(code, {
      check: (key, value) => void DATA_CODEC.encode(value, `value of ${key}`),
      note(key) {
        if (!memory.data.has(key)) notes.remove([KEYS.data, key]);
        else notes.put([KEYS.data, key], () => DATA_CODEC.encode(memory.data.get(key), `value of ${key}`));
      },
    });
  }
}

class NotedEventTable implements EventTable {
  readonly #rows: NotedRows;

  constructor(rows: NotedRows) {
    this.#rows = rows;
  }

  get(id: string): EventRow | null {
    return this.#rows.memory.events.get(id);
  }

  insert(event: Omit<EventRow, "n">): EventRow {
    const row = this.#rows.memory.events.insert(event);
    this.#rows.used("events", row.n);
    this.#note(row);
    return row;
  }

  save(event: EventRow): void {
    this.#rows.memory.events.save(event);
    this.#note(event);
  }

  remove(event: EventRow): void {
    this.#rows.memory.events.remove(event);
    this.#rows.notes.remove([KEYS.event, event.n]);
  }

  oldestDeliverable(query: DeliverableQuery): EventRow | null {
    return this.#rows.memory.events.oldestDeliverable(query);
  }

  oldestPending(topic: string): EventRow | null {
    return this.#rows.memory.events.oldestPending(topic);
  }

  countPending(topic: string): number {
    return this.#rows.memory.events.countPending(topic);
  }

  expired(now: number, limit: number): readonly EventRow[] {
    return this.#rows.memory.events.expired(now, limit);
  }

  removeBefore(before: number, limit: number): number {
    const { events } = this.#rows.memory;
    const had = [...events.all()];
    const removed = events.removeBefore(before, limit);
    for (const event of had) if (events.get(event.id) === null) this.#rows.notes.remove([KEYS.event, event.n]);
    return removed;
  }

  #note(event: EventRow): void {
    this.#rows.notes.put([KEYS.event, event.n], () => event);
  }
}

class NotedLetterTable implements LetterTable {
  readonly #rows: NotedRows;

  constructor(rows: NotedRows) {
    this.#rows = rows;
  }

  get(id: string): LetterRow | null {
    return this.#rows.memory.letters.get(id);
  }

  insert(letter: LetterRow): void {
    const { letters } = this.#rows.memory;
    letters.insert(letter);
    const row = letters.numbered(letter.id);
    if (row === null) return;
    this.#rows.used("letters", row.n);
    this.#rows.notes.put([KEYS.letter, row.n], () => row.letter);
  }

  remove(id: string): void {
    const row = this.#rows.memory.letters.numbered(id);
    this.#rows.memory.letters.remove(id);
    if (row !== null) this.#rows.notes.remove([KEYS.letter, row.n]);
  }

  removeBefore(before: number, limit: number): number {
    const { letters } = this.#rows.memory;
    const had = [...letters.all()];
    const removed = letters.removeBefore(before, limit);
    for (const { n, letter } of had) {
      if (letters.get(letter.id) === null) this.#rows.notes.remove([KEYS.letter, n]);
    }
    return removed;
  }
}

class NotedDocumentTable implements DocumentTable {
  readonly #rows: NotedRows;

  constructor(rows: NotedRows) {
    this.#rows = rows;
  }

  get(kind: string, id: string): StoredDocument | null {
    return this.#rows.memory.documents.get(kind, id);
  }

  create(document: StoredDocument): void {
    if (this.get(document.kind, document.id) === null) this.put(document);
  }

  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    const found = this.get(kind, id);
    if (found !== null) this.put({ ...found, attributes: { ...found.attributes, ...attributes } });
  }

  closeOf(runId: string): void {
    for (const { kind, id, attributes } of this.#rows.memory.documents.of(runId)) {
      if (attributes.d === OPEN_DOCUMENT) this.mark(kind, id, { d: CANCELLED_DOCUMENT });
    }
  }

  revise(_seen: StoredDocument | null, document: StoredDocument): void {
    this.put(document);
  }

  put(document: StoredDocument): void {
    this.#rows.memory.documents.put(document);
    this.#rows.notes.put([KEYS.document, document.kind, document.id], () => document);
  }

  remove(kind: string, id: string): void {
    this.#rows.memory.documents.remove(kind, id);
    this.#rows.notes.remove([KEYS.document, kind, id]);
  }

  removeOf(runId: string): void {
    const { documents } = this.#rows.memory;
    for (const { kind, id } of documents.of(runId)) this.#rows.notes.remove([KEYS.document, kind, id]);
    documents.removeOf(runId);
  }
}
