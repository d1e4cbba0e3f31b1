import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord, SeqRange } from "../../model/record.ts";
import { type Cell, cellOf } from "../memory/cell.ts";
import type { InboxTable, JournalTable, RunHead, TopicTable } from "../tables.ts";
import { KEYS } from "./keys.ts";
import type { NotedRows } from "./noted-rows.ts";

/** A record as it is stored: its location as numbers of names, its seq in the key. */
export function storedRecord(rows: Pick<NotedRows, "names">, { seq: _seq, location, ...rest }: JournalRecord): object {
  return { ...rest, path: rows.names.segments(location) };
}

export class NotedJournalTable implements JournalTable {
  readonly #rows: NotedRows;

  constructor(rows: NotedRows) {
    this.#rows = rows;
  }

  newestSeq(head: RunHead): number {
    return this.#rows.memory.journal.newestSeq(head);
  }

  append(head: RunHead, records: readonly JournalRecord[]): void {
    this.#rows.memory.journal.append(head, records);
    this.#note(head, records);
  }

  fill(head: RunHead, records: readonly JournalRecord[]): void {
    this.#rows.memory.journal.fill(head, records);
    this.#note(head, records);
  }

  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    if (!this.#rows.memory.journal.appendGuarded(runId, epoch, records)) return false;
    const cell = this.#rows.memory.cells.get(runId);
    if (cell !== undefined) this.#note(cell.head, records);
    return true;
  }

  cut(head: RunHead, seqMax: number): void {
    this.#forget(head, (seq) => seq <= seqMax);
    this.#rows.memory.journal.cut(head, seqMax);
  }

  cutAfter(head: RunHead, seqMax: number): void {
    this.#forget(head, (seq) => seq > seqMax);
    this.#rows.memory.journal.cutAfter(head, seqMax);
  }

  trim(head: RunHead, range: SeqRange): void {
    this.#forget(head, (seq) => seq >= range.from && seq <= range.to);
    this.#rows.memory.journal.trim(head, range);
  }

  /** The names are looked up at once, so that those that are new are written with the record. */
  #note(head: RunHead, records: readonly JournalRecord[]): void {
    for (const record of records) {
      const stored = storedRecord(this.#rows, record);
      this.#rows.notes.put([KEYS.journal, head.key, record.seq], () => stored);
    }
  }

  #forget(head: RunHead, goes: (seq: number) => boolean): void {
    for (const { seq } of cellOf(this.#rows.memory.cells, head).journal.after(0)) {
      if (goes(seq)) this.#rows.notes.remove([KEYS.journal, head.key, seq]);
    }
  }
}

export class NotedInboxTable implements InboxTable {
  readonly #rows: NotedRows;

  constructor(rows: NotedRows) {
    this.#rows = rows;
  }

  add(head: RunHead, entry: InboxEntry): boolean {
    return this.#note(head, entry, this.#rows.memory.inbox.add(head, entry));
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    return this.#note(head, entry, this.#rows.memory.inbox.restore(head, entry));
  }

  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean {
    return this.#rows.memory.inbox.knows(head, kind, id);
  }

  take(head: RunHead, n: number): void {
    this.#rows.memory.inbox.take(head, n);
    this.#rows.notes.remove([KEYS.inbox, head.key, n]);
  }

  open(head: RunHead): readonly InboxEntry[] {
    return this.#rows.memory.inbox.open(head);
  }

  takeAll(head: RunHead): void {
    for (const { n } of this.open(head)) this.#rows.notes.remove([KEYS.inbox, head.key, n]);
    this.#rows.memory.inbox.takeAll(head);
  }

  forgetBefore(before: number, limit: number): number {
    const cells = [...this.#rows.memory.cells.values()];
    const had = cells.map((cell) => [...cell.known.keys()]);
    const forgotten = this.#rows.memory.inbox.forgetBefore(before, limit);
    for (const [index, cell] of cells.entries()) {
      for (const key of had[index] ?? []) if (!cell.known.has(key)) this.#rows.notes.remove(knownKey(cell, key));
    }
    return forgotten;
  }

  removeAll(head: RunHead): void {
    const cell = cellOf(this.#rows.memory.cells, head);
    for (const n of cell.inbox.keys()) this.#rows.notes.remove([KEYS.inbox, head.key, n]);
    for (const key of cell.known.keys()) this.#rows.notes.remove(knownKey(cell, key));
    this.#rows.memory.inbox.removeAll(head);
  }

  #note(head: RunHead, entry: InboxEntry, isAdded: boolean): boolean {
    if (!isAdded) return false;
    const { n, at } = entry;
    this.#rows.notes.put([KEYS.inbox, head.key, n], () => entry);
    this.#rows.notes.put([KEYS.known, head.key, `${entry.kind}:${entry.id}`], () => ({ n, at }));
    return true;
  }
}

function knownKey(cell: Cell, key: string): [number, number, string] {
  return [KEYS.known, cell.head.key, key];
}

export class NotedTopicTable implements TopicTable {
  readonly #rows: NotedRows;

  constructor(rows: NotedRows) {
    this.#rows = rows;
  }

  subscribe(head: RunHead, topics: readonly string[]): void {
    const places = this.#rows.places.get(head.key) ?? new Map<string, number>();
    this.#rows.places.set(head.key, places);
    for (const topic of places.keys()) if (!topics.includes(topic)) places.delete(topic);
    for (const topic of topics) if (!places.has(topic)) places.set(topic, this.#rows.nextPlace());
    this.#rows.memory.topics.subscribe(head, topics);
    this.#rows.noteRow(cellOf(this.#rows.memory.cells, head).head);
  }

  unsubscribe(head: RunHead): void {
    this.#rows.places.delete(head.key);
    this.#rows.memory.topics.unsubscribe(head);
    this.#rows.noteRow(cellOf(this.#rows.memory.cells, head).head);
  }

  longestWaiter(topic: string): RunHead | null {
    return this.#rows.memory.topics.longestWaiter(topic);
  }

  waiters(topic: string): readonly RunHead[] {
    return this.#rows.memory.topics.waiters(topic);
  }

  seen(head: RunHead, topic: string): number {
    return this.#rows.memory.topics.seen(head, topic);
  }

  setSeen(head: RunHead, topic: string, n: number): void {
    this.#rows.memory.topics.setSeen(head, topic, n);
    this.#rows.notes.put([KEYS.seen, head.key, topic], () => n);
  }

  forgetSeen(head: RunHead): void {
    const { topicSeen } = cellOf(this.#rows.memory.cells, head);
    for (const topic of topicSeen.keys()) this.#rows.notes.remove([KEYS.seen, head.key, topic]);
    this.#rows.memory.topics.forgetSeen(head);
  }
}
