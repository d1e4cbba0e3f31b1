import type { InboxEntry } from "../../model/inbox.ts";
import { createCodec } from "../../model/payload.ts";
import type { JournalRecord, SeqRange } from "../../model/record.ts";
import type { NewRun, Payload, Run, Wait } from "../../model/run.ts";
import {
  CANCELLED_DOCUMENT,
  type DocumentAttributes,
  type InTransaction,
  OPEN_DOCUMENT,
  type StoredDocument,
} from "../../model/transition.ts";
import type {
  AwaitedPosts,
  ClaimableQuery,
  DeliverableQuery,
  DocumentTable,
  EndedQuery,
  EventRow,
  EventTable,
  HeadDraft,
  InboxTable,
  JournalTable,
  LetterRow,
  LetterTable,
  RunHead,
  RunTable,
  Tables,
  TopicTable,
  WorkerTable,
} from "../../rules/tables.ts";
import type { TransactionEnd } from "../../rules/transaction-scope.ts";
import { type MemoryRun, memoryRunOf } from "../memory/memory-run.ts";
import { KEYS } from "./keys.ts";
import type { RecordedRows } from "./recorded-rows.ts";

/** Encodes the values that transactions store. Their size is unlimited. */
export const DATA_CODEC = createCodec(null, {
  bytesMax: Number.MAX_SAFE_INTEGER,
  warnBytes: Number.MAX_SAFE_INTEGER,
  onLarge: () => undefined,
});

/** Tables in memory that log every change. Workers live as long as their process, so their rows are not logged. */
export class RecordingTables implements Tables {
  readonly runs: RecordingRunTable;
  readonly journal: RecordingJournalTable;
  readonly inbox: RecordingInboxTable;
  readonly topics: RecordingTopicTable;
  readonly events: EventTable;
  readonly letters: LetterTable;
  readonly documents: DocumentTable;
  readonly workers: WorkerTable;
  readonly #rows: RecordedRows;

  constructor(rows: RecordedRows) {
    this.#rows = rows;
    this.runs = new RecordingRunTable(rows);
    this.journal = new RecordingJournalTable(rows);
    this.inbox = new RecordingInboxTable(rows);
    this.topics = new RecordingTopicTable(rows);
    this.events = new RecordingEventTable(rows);
    this.letters = new RecordingLetterTable(rows);
    this.documents = new RecordingDocumentTable(rows);
    this.workers = rows.memory.workers;
  }

  transact(code: InTransaction): TransactionEnd {
    const { memory, changes } = this.#rows;
    return memory.transactRecording(code, {
      check: (key, value) => void DATA_CODEC.encode(value, `value of ${key}`),
      onChange(key) {
        if (!memory.data.has(key)) changes.remove([KEYS.data, key]);
        else changes.put([KEYS.data, key], () => DATA_CODEC.encode(memory.data.get(key), `value of ${key}`));
      },
    });
  }
}

class RecordingEventTable implements EventTable {
  readonly #rows: RecordedRows;

  constructor(rows: RecordedRows) {
    this.#rows = rows;
  }

  get(id: string): EventRow | null {
    return this.#rows.memory.events.get(id);
  }

  insert(event: Omit<EventRow, "n">): EventRow {
    const row = this.#rows.memory.events.insert(event);
    this.#rows.used("events", row.n);
    this.#log(row);
    return row;
  }

  save(event: EventRow): void {
    this.#rows.memory.events.save(event);
    this.#log(event);
  }

  remove(event: EventRow): void {
    this.#rows.memory.events.remove(event);
    this.#rows.changes.remove([KEYS.event, event.n]);
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

  removeBefore(time: number, limit: number): number {
    const { events } = this.#rows.memory;
    const before = [...events.all()];
    const removed = events.removeBefore(time, limit);
    for (const event of before) if (events.get(event.id) === null) this.#rows.changes.remove([KEYS.event, event.n]);
    return removed;
  }

  #log(event: EventRow): void {
    this.#rows.changes.put([KEYS.event, event.n], () => event);
  }
}

class RecordingLetterTable implements LetterTable {
  readonly #rows: RecordedRows;

  constructor(rows: RecordedRows) {
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
    this.#rows.changes.put([KEYS.letter, row.n], () => row.letter);
  }

  remove(id: string): void {
    const row = this.#rows.memory.letters.numbered(id);
    this.#rows.memory.letters.remove(id);
    if (row !== null) this.#rows.changes.remove([KEYS.letter, row.n]);
  }

  removeBefore(time: number, limit: number): number {
    const { letters } = this.#rows.memory;
    const before = [...letters.all()];
    const removed = letters.removeBefore(time, limit);
    for (const { n, letter } of before) {
      if (letters.get(letter.id) === null) this.#rows.changes.remove([KEYS.letter, n]);
    }
    return removed;
  }
}

class RecordingDocumentTable implements DocumentTable {
  readonly #rows: RecordedRows;

  constructor(rows: RecordedRows) {
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
    this.#rows.changes.put([KEYS.document, document.kind, document.id], () => document);
  }

  remove(kind: string, id: string): void {
    this.#rows.memory.documents.remove(kind, id);
    this.#rows.changes.remove([KEYS.document, kind, id]);
  }

  removeOf(runId: string): void {
    const { documents } = this.#rows.memory;
    for (const { kind, id } of documents.of(runId)) this.#rows.changes.remove([KEYS.document, kind, id]);
    documents.removeOf(runId);
  }
}

/** Returns a record as it is stored: its location as numbers of names. Its seq is in the key. */
export function storedRecord(
  rows: Pick<RecordedRows, "names">,
  { seq: _seq, location, ...rest }: JournalRecord,
): object {
  return { ...rest, path: rows.names.segments(location) };
}

export class RecordingJournalTable implements JournalTable {
  readonly #rows: RecordedRows;

  constructor(rows: RecordedRows) {
    this.#rows = rows;
  }

  newestSeq(head: RunHead): number {
    return this.#rows.memory.journal.newestSeq(head);
  }

  append(head: RunHead, records: readonly JournalRecord[]): void {
    this.#rows.memory.journal.append(head, records);
    this.#log(head, records);
  }

  fill(head: RunHead, records: readonly JournalRecord[]): void {
    this.#rows.memory.journal.fill(head, records);
    this.#log(head, records);
  }

  appendGuarded(runId: string, epoch: number, records: readonly JournalRecord[]): boolean {
    if (!this.#rows.memory.journal.appendGuarded(runId, epoch, records)) return false;
    const memoryRun = this.#rows.memory.memoryRuns.get(runId);
    if (memoryRun !== undefined) this.#log(memoryRun.head, records);
    return true;
  }

  cut(head: RunHead, seqMax: number): void {
    this.#logRemovals(head, (seq) => seq <= seqMax);
    this.#rows.memory.journal.cut(head, seqMax);
  }

  cutAfter(head: RunHead, seqMax: number): void {
    this.#logRemovals(head, (seq) => seq > seqMax);
    this.#rows.memory.journal.cutAfter(head, seqMax);
  }

  trim(head: RunHead, range: SeqRange): void {
    this.#logRemovals(head, (seq) => seq >= range.from && seq <= range.to);
    this.#rows.memory.journal.trim(head, range);
  }

  /** Looks up names at once, so that new names are written together with the record. */
  #log(head: RunHead, records: readonly JournalRecord[]): void {
    for (const record of records) {
      const stored = storedRecord(this.#rows, record);
      this.#rows.changes.put([KEYS.journal, head.key, record.seq], () => stored);
    }
  }

  #logRemovals(head: RunHead, isRemoved: (seq: number) => boolean): void {
    for (const { seq } of memoryRunOf(this.#rows.memory.memoryRuns, head).journal.after(0)) {
      if (isRemoved(seq)) this.#rows.changes.remove([KEYS.journal, head.key, seq]);
    }
  }
}

export class RecordingInboxTable implements InboxTable {
  readonly #rows: RecordedRows;

  constructor(rows: RecordedRows) {
    this.#rows = rows;
  }

  add(head: RunHead, entry: InboxEntry): boolean {
    return this.#log(head, entry, this.#rows.memory.inbox.add(head, entry));
  }

  restore(head: RunHead, entry: InboxEntry): boolean {
    return this.#log(head, entry, this.#rows.memory.inbox.restore(head, entry));
  }

  knows(head: RunHead, kind: InboxEntry["kind"], id: string): boolean {
    return this.#rows.memory.inbox.knows(head, kind, id);
  }

  take(head: RunHead, n: number): void {
    this.#rows.memory.inbox.take(head, n);
    this.#rows.changes.remove([KEYS.inbox, head.key, n]);
  }

  open(head: RunHead): readonly InboxEntry[] {
    return this.#rows.memory.inbox.open(head);
  }

  takeAll(head: RunHead): void {
    for (const { n } of this.open(head)) this.#rows.changes.remove([KEYS.inbox, head.key, n]);
    this.#rows.memory.inbox.takeAll(head);
  }

  forgetBefore(time: number, limit: number): number {
    const memoryRuns = [...this.#rows.memory.memoryRuns.values()];
    const before = memoryRuns.map((memoryRun) => [...memoryRun.known.keys()]);
    const forgotten = this.#rows.memory.inbox.forgetBefore(time, limit);
    for (const [index, memoryRun] of memoryRuns.entries()) {
      for (const key of before[index] ?? [])
        if (!memoryRun.known.has(key)) this.#rows.changes.remove(knownKey(memoryRun, key));
    }
    return forgotten;
  }

  removeAll(head: RunHead): void {
    const memoryRun = memoryRunOf(this.#rows.memory.memoryRuns, head);
    for (const n of memoryRun.inbox.keys()) this.#rows.changes.remove([KEYS.inbox, head.key, n]);
    for (const key of memoryRun.known.keys()) this.#rows.changes.remove(knownKey(memoryRun, key));
    this.#rows.memory.inbox.removeAll(head);
  }

  #log(head: RunHead, entry: InboxEntry, isAdded: boolean): boolean {
    if (!isAdded) return false;
    const { n, at } = entry;
    this.#rows.changes.put([KEYS.inbox, head.key, n], () => entry);
    this.#rows.changes.put([KEYS.known, head.key, `${entry.kind}:${entry.id}`], () => ({ n, at }));
    return true;
  }
}

function knownKey(memoryRun: MemoryRun, key: string): [number, number, string] {
  return [KEYS.known, memoryRun.head.key, key];
}

export class RecordingTopicTable implements TopicTable {
  readonly #rows: RecordedRows;

  constructor(rows: RecordedRows) {
    this.#rows = rows;
  }

  subscribe(head: RunHead, topics: readonly string[]): void {
    const places = this.#rows.places.get(head.key) ?? new Map<string, number>();
    this.#rows.places.set(head.key, places);
    for (const topic of places.keys()) if (!topics.includes(topic)) places.delete(topic);
    for (const topic of topics) if (!places.has(topic)) places.set(topic, this.#rows.nextPlace());
    this.#rows.memory.topics.subscribe(head, topics);
    this.#rows.recordRow(memoryRunOf(this.#rows.memory.memoryRuns, head).head);
  }

  unsubscribe(head: RunHead): void {
    this.#rows.places.delete(head.key);
    this.#rows.memory.topics.unsubscribe(head);
    this.#rows.recordRow(memoryRunOf(this.#rows.memory.memoryRuns, head).head);
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
    this.#rows.changes.put([KEYS.seen, head.key, topic], () => n);
  }

  forgetSeen(head: RunHead): void {
    const { topicSeen } = memoryRunOf(this.#rows.memory.memoryRuns, head);
    for (const topic of topicSeen.keys()) this.#rows.changes.remove([KEYS.seen, head.key, topic]);
    this.#rows.memory.topics.forgetSeen(head);
  }
}

/** Run rows in memory. Every change is logged. */
export class RecordingRunTable implements RunTable {
  readonly #rows: RecordedRows;

  constructor(rows: RecordedRows) {
    this.#rows = rows;
  }

  head(runId: string): RunHead | null {
    return this.#runs.head(runId);
  }

  get(runId: string): Run | null {
    return this.#runs.get(runId);
  }

  wait(head: RunHead): AwaitedPosts | null {
    return this.#runs.wait(head);
  }

  insert(run: NewRun, head: HeadDraft): boolean {
    if (!this.#runs.insert(run, head)) return false;
    this.#rows.used("runs", head.key);
    this.#rows.recordRow(head);
    this.#recordInput(head);
    return true;
  }

  saveOwner(head: RunHead): void {
    this.#runs.saveOwner(head);
    this.#rows.recordRow(head);
  }

  saveInbox(head: RunHead): void {
    this.#runs.saveInbox(head);
    this.#rows.recordRow(head);
  }

  saveReady(head: RunHead): void {
    this.#runs.saveReady(head);
    this.#rows.recordRow(head);
  }

  saveUndo(head: RunHead): void {
    this.#runs.saveUndo(head);
    this.#rows.recordRow(head);
  }

  saveWait(head: RunHead, wait: Wait | null): void {
    this.#runs.saveWait(head, wait);
    this.#rows.recordRow(head);
  }

  saveOutcome(head: RunHead, outcome: Payload): void {
    this.#runs.saveOutcome(head, outcome);
    this.#rows.recordRow(head);
    this.#rows.changes.put([KEYS.outcome, head.key], () => outcome);
  }

  saveVersion(head: RunHead): void {
    this.#runs.saveVersion(head);
    this.#rows.recordRow(head);
  }

  saveProgram(head: RunHead, program: Pick<Run, "input">): void {
    this.#runs.saveProgram(head, program);
    this.#rows.recordRow(head);
    this.#recordInput(head);
  }

  saveStart(head: RunHead, run: NewRun): void {
    this.#runs.saveStart(head, run);
    this.#rows.recordRow(head);
    this.#recordInput(head);
  }

  openChildren(runId: string): readonly RunHead[] {
    return this.#runs.openChildren(runId);
  }

  claimable(query: ClaimableQuery): readonly RunHead[] {
    return this.#runs.claimable(query);
  }

  ownedBy(worker: string, limit: number): readonly RunHead[] {
    return this.#runs.ownedBy(worker, limit);
  }

  ended(query: EndedQuery): readonly RunHead[] {
    return this.#runs.ended(query);
  }

  remove(head: RunHead): void {
    this.#runs.remove(head);
    for (const key of [KEYS.run, KEYS.input, KEYS.outcome]) this.#rows.changes.remove([key, head.key]);
    this.#rows.onRow(head.id, null);
  }

  #recordInput(head: RunHead): void {
    const memoryRun: MemoryRun = memoryRunOf(this.#rows.memory.memoryRuns, head);
    this.#rows.changes.put([KEYS.input, head.key], () => ({
      tags: memoryRun.tags,
      parent: memoryRun.parent,
      input: memoryRun.input,
      ...(memoryRun.limits === undefined ? {} : { limits: memoryRun.limits }),
    }));
  }

  get #runs(): RecordedRows["memory"]["runs"] {
    return this.#rows.memory.runs;
  }
}
