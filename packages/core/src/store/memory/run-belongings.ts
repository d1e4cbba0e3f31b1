import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord, SeqRange } from "../../model/record.ts";
import { isTerminal } from "../../model/run.ts";
import type { InboxTable, JournalTable, RunHead, TopicTable } from "../tables.ts";
import { type Cell, type Cells, cellOf } from "./cell.ts";
import { SetsByName } from "./sets-by-name.ts";

export class MemoryJournalTable implements JournalTable {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  newestSeq(head: RunHead): number {
    return newestSeq(cellOf(this.#cells, head));
  }

  append(head: RunHead, records: readonly JournalRecord[]): void {
    add(cellOf(this.#cells, head), records);
  }

  fill(head: RunHead, records: readonly JournalRecord[]): void {
    const { journal } = cellOf(this.#cells, head);
    for (const record of records) journal.push(record);
  }

  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    const cell = this.#cells.get(runId);
    const [first] = records;
    if (cell === undefined || first === undefined) return false;
    const { head } = cell;
    if (head.epoch !== epoch || isTerminal(head.status) || first.seq !== newestSeq(cell) + 1) return false;
    add(cell, records);
    return true;
  }

  cut(head: RunHead, seqMax: number): void {
    cellOf(this.#cells, head).journal.keep((seq) => seq > seqMax);
  }

  cutAfter(head: RunHead, seq: number): void {
    cellOf(this.#cells, head).journal.keep((each) => each <= seq);
  }

  trim(head: RunHead, { from, to }: SeqRange): void {
    cellOf(this.#cells, head).journal.keep((seq) => seq < from || seq > to);
  }
}

function newestSeq({ journal, head }: Cell): number {
  return journal.newestSeq ?? head.baseSeq;
}

function add(cell: Cell, records: readonly JournalRecord[]): void {
  let newest = newestSeq(cell);
  for (const record of records) {
    if (record.seq !== newest + 1)
      throw new Error(`record ${record.seq} of run ${cell.head.id} does not follow ${newest}`);
    cell.journal.push(record);
    newest = record.seq;
  }
}

export class MemoryInboxTable implements InboxTable {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  add(head: RunHead, entry: InboxEntry): boolean {
    const { inbox, known } = cellOf(this.#cells, head);
    const key = knownKey(entry.kind, entry.id);
    if (known.has(key)) return false;
    known.set(key, { n: entry.n, at: entry.at });
    inbox.set(entry.n, entry);
    return true;
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    const { inbox, known } = cellOf(this.#cells, head);
    const key = knownKey(entry.kind, entry.id);
    const had = known.get(key);
    if (had !== undefined && inbox.has(had.n)) return false;
    known.set(key, { n: entry.n, at: entry.at });
    inbox.set(entry.n, entry);
    return true;
  }

  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean {
    return cellOf(this.#cells, head).known.has(knownKey(kind, id));
  }

  take(head: RunHead, n: number): void {
    cellOf(this.#cells, head).inbox.delete(n);
  }

  open(head: RunHead): readonly InboxEntry[] {
    return [...cellOf(this.#cells, head).inbox.values()];
  }

  takeAll(head: RunHead): void {
    cellOf(this.#cells, head).inbox.clear();
  }

  forgetBefore(before: number, limit: number): number {
    let forgotten = 0;
    for (const { inbox, known } of this.#cells.values()) {
      for (const [key, { n, at }] of known) {
        if (forgotten === limit) return forgotten;
        if (at >= before || inbox.has(n)) continue;
        known.delete(key);
        forgotten += 1;
      }
    }
    return forgotten;
  }

  removeAll(head: RunHead): void {
    const { inbox, known } = cellOf(this.#cells, head);
    inbox.clear();
    known.clear();
  }
}

/** No kind holds a colon. */
function knownKey(kind: InboxEntry["kind"], id: string): string {
  return `${kind}:${id}`;
}

export class MemoryTopicTable implements TopicTable {
  readonly #cells: Cells;
  /** A set keeps the order in which the runs subscribed. */
  readonly #waiters = new SetsByName<Cell>();

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  subscribe(head: RunHead, topics: readonly string[]): void {
    const cell = cellOf(this.#cells, head);
    for (const topic of [...cell.topics]) if (!topics.includes(topic)) this.#leave(cell, topic);
    for (const topic of topics) {
      cell.topics.add(topic);
      this.#waiters.add(topic, cell);
    }
  }

  unsubscribe(head: RunHead): void {
    const cell = cellOf(this.#cells, head);
    for (const topic of [...cell.topics]) this.#leave(cell, topic);
  }

  longestWaiter(topic: string): RunHead | null {
    for (const cell of this.#waiters.of(topic)) return cell.head;
    return null;
  }

  waiters(topic: string): readonly RunHead[] {
    return Array.from(this.#waiters.of(topic), (cell) => cell.head);
  }

  seen(head: RunHead, topic: string): number {
    return cellOf(this.#cells, head).topicSeen.get(topic) ?? 0;
  }

  setSeen(head: RunHead, topic: string, n: number): void {
    cellOf(this.#cells, head).topicSeen.set(topic, n);
  }

  forgetSeen(head: RunHead): void {
    cellOf(this.#cells, head).topicSeen.clear();
  }

  #leave(cell: Cell, topic: string): void {
    cell.topics.delete(topic);
    this.#waiters.remove(topic, cell);
  }
}
