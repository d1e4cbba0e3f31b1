import {
  CANCELLED_DOCUMENT,
  type DocumentAttributes,
  type InTransaction,
  OPEN_DOCUMENT,
  type StoredDocument,
} from "../../model/transition.ts";
import type { MemoryTx } from "../../model/tx.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";
import type {
  DeliverableQuery,
  DocumentTable,
  EventRow,
  EventTable,
  LetterRow,
  LetterTable,
  Tables,
  WorkerTable,
} from "../../rules/tables.ts";
import { type TransactionEnd, TransactionScope } from "../../rules/transaction-scope.ts";
import type { WorkerRow } from "../store.ts";
import type { MemoryRuns } from "./memory-run.ts";
import { MemoryInboxTable, MemoryJournalTable, MemoryRunTable, MemoryTopicTable } from "./run-tables.ts";

/** The largest numbers given to rows so far. */
export interface UsedNumbers {
  readonly runs: number;
  readonly events: number;
  readonly letters: number;
}

/** The rows as maps, with indexes. */
export class MemoryTables implements Tables {
  readonly memoryRuns: MemoryRuns = new Map();
  readonly runs: MemoryRunTable;
  readonly journal = new MemoryJournalTable(this.memoryRuns);
  readonly inbox = new MemoryInboxTable(this.memoryRuns);
  readonly topics = new MemoryTopicTable(this.memoryRuns);
  readonly events: MemoryEventTable;
  readonly letters: MemoryLetterTable;
  readonly documents = new MemoryDocumentTable();
  readonly workers = new MemoryWorkerTable();
  /** The values that transactions have stored. */
  readonly data = new Map<string, unknown>();

  /** Numbers up to those in `used` are not given again. */
  constructor(used: UsedNumbers = { runs: 0, events: 0, letters: 0 }) {
    this.runs = new MemoryRunTable(this.memoryRuns, used.runs);
    this.events = new MemoryEventTable(this.memoryRuns, used.events);
    this.letters = new MemoryLetterTable(used.letters);
  }

  transact(code: InTransaction): TransactionEnd {
    return this.transactRecording(code, { check: () => undefined, onChange: () => undefined });
  }

  /** Like `transact`. Calls `check` before a value is stored, and `onChange` for each changed key. */
  transactRecording(
    code: InTransaction,
    { check, onChange }: { check(key: string, value: unknown): void; onChange(key: string): void },
  ): TransactionEnd {
    const scope = new TransactionScope();
    const changes = new MemoryChanges(this.data, scope, check);
    const end = scope.run(code, changes.tx);
    if (end.kind === "returned") for (const key of changes.apply()) onChange(key);
    return end;
  }
}

/** A dead letter and its number. Numbers ascend in the order in which letters were created. */
export interface NumberedLetter {
  readonly n: number;
  readonly letter: LetterRow;
}

export class MemoryLetterTable implements LetterTable {
  #last: number;
  readonly #letters = new Map<string, NumberedLetter>();

  constructor(last = 0) {
    this.#last = last;
  }

  get(id: string): LetterRow | null {
    return this.#letters.get(id)?.letter ?? null;
  }

  insert(letter: LetterRow): void {
    if (this.#letters.has(letter.id)) return;
    this.#last += 1;
    this.#letters.set(letter.id, { n: this.#last, letter });
  }

  /** Adds a stored row with its number. */
  load(row: NumberedLetter): void {
    this.#letters.set(row.letter.id, row);
  }

  numbered(id: string): NumberedLetter | null {
    return this.#letters.get(id) ?? null;
  }

  all(): Iterable<NumberedLetter> {
    return this.#letters.values();
  }

  remove(id: string): void {
    this.#letters.delete(id);
  }

  removeBefore(before: number, limit: number): number {
    const old = [...this.#letters.values()].filter(({ letter }) => letter.deadAt < before);
    old.sort((left, right) => left.letter.deadAt - right.letter.deadAt || left.n - right.n);
    for (const { letter } of old.slice(0, limit)) this.remove(letter.id);
    return Math.min(old.length, limit);
  }

  /** Returns up to `limit` letters with numbers below `n`, newest first. */
  below(n: number, limit: number): readonly NumberedLetter[] {
    const older = [...this.#letters.values()].filter((row) => row.n < n);
    return older.reverse().slice(0, limit);
  }
}

export class MemoryDocumentTable implements DocumentTable {
  readonly #kinds = new Map<string, Map<string, StoredDocument>>();
  readonly #ofRuns = new Map<string, Set<StoredDocument>>();

  get(kind: string, id: string): StoredDocument | null {
    return this.#kinds.get(kind)?.get(id) ?? null;
  }

  ofKind(kind: string): StoredDocument[] {
    return [...(this.#kinds.get(kind)?.values() ?? [])];
  }

  of(runId: string): readonly StoredDocument[] {
    return [...(this.#ofRuns.get(runId) ?? [])];
  }

  put(document: StoredDocument): void {
    const { runId } = document;
    this.remove(document.kind, document.id);
    const kind = this.#kinds.get(document.kind) ?? new Map<string, StoredDocument>();
    this.#kinds.set(document.kind, kind.set(document.id, document));
    if (runId === null) return;
    const ofRun = this.#ofRuns.get(runId);
    if (ofRun === undefined) this.#ofRuns.set(runId, new Set([document]));
    else ofRun.add(document);
  }

  create(document: StoredDocument): void {
    if (this.get(document.kind, document.id) === null) this.put(document);
  }

  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    const found = this.get(kind, id);
    if (found !== null) this.put({ ...found, attributes: { ...found.attributes, ...attributes } });
  }

  closeOf(runId: string): void {
    for (const { kind, id, attributes } of this.of(runId)) {
      if (attributes.d === OPEN_DOCUMENT) this.mark(kind, id, { d: CANCELLED_DOCUMENT });
    }
  }

  revise(_seen: StoredDocument | null, document: StoredDocument): void {
    this.put(document);
  }

  remove(kind: string, id: string): void {
    const found = this.get(kind, id);
    if (found === null) return;
    this.#kinds.get(kind)?.delete(id);
    const ofRun = this.#ofRuns.get(found.runId ?? "");
    ofRun?.delete(found);
    if (ofRun?.size === 0) this.#ofRuns.delete(found.runId ?? "");
  }

  removeOf(runId: string): void {
    for (const { kind, id } of this.of(runId)) this.remove(kind, id);
  }
}

export class MemoryWorkerTable implements WorkerTable {
  readonly rows = new Map<string, WorkerRow>();

  expiresAt(worker: string): number | null {
    return this.rows.get(worker)?.expiresAt ?? null;
  }

  save(worker: string, expiresAt: number, workflows?: readonly WorkflowRef[]): void {
    this.rows.set(worker, { id: worker, expiresAt, workflows: workflows ?? this.rows.get(worker)?.workflows ?? [] });
  }

  remove(worker: string): void {
    this.rows.delete(worker);
  }

  /** Returns the earliest expiry of the other workers. */
  nextExpiryAt(worker: string): number | null {
    const others = [...this.rows.values()].filter(({ id }) => id !== worker);
    return others.reduce<number | null>((first, { expiresAt }) => Math.min(first ?? expiresAt, expiresAt), null);
  }

  dead(now: number, limit: number): readonly string[] {
    const dead = [...this.rows.values()].filter(({ expiresAt }) => expiresAt <= now);
    dead.sort((left, right) => left.expiresAt - right.expiresAt || (left.id < right.id ? -1 : 1));
    return dead.slice(0, limit).map(({ id }) => id);
  }
}

/** Events by id, and pending events by topic in order. */
export class MemoryEventTable implements EventTable {
  #last: number;
  readonly #memoryRuns: MemoryRuns;
  readonly #byId = new Map<string, EventRow>();
  readonly #pending = new Map<string, EventRow[]>();

  constructor(memoryRuns: MemoryRuns, last = 0) {
    this.#memoryRuns = memoryRuns;
    this.#last = last;
  }

  get(id: string): EventRow | null {
    return this.#byId.get(id) ?? null;
  }

  insert(event: Omit<EventRow, "n">): EventRow {
    this.#last += 1;
    const row = { ...event, n: this.#last };
    this.save(row);
    return row;
  }

  save(event: EventRow): void {
    this.#dropPending(event.id);
    this.#byId.set(event.id, event);
    if (!event.pending) return;
    const pending = this.#pending.get(event.topic) ?? [];
    this.#pending.set(event.topic, pending);
    const place = pending.findLastIndex((other) => other.n < event.n) + 1;
    pending.splice(place, 0, event);
  }

  remove(event: EventRow): void {
    this.#dropPending(event.id);
    this.#byId.delete(event.id);
  }

  all(): Iterable<EventRow> {
    return this.#byId.values();
  }

  oldestDeliverable({ topic, consume, afterN, now, createdAt }: DeliverableQuery): EventRow | null {
    const fits = (event: EventRow): boolean =>
      event.consume === consume &&
      event.n > afterN &&
      event.expireAt > now &&
      (event.deliver === "all" || event.at >= createdAt);
    return this.#pending.get(topic)?.find(fits) ?? null;
  }

  oldestPending(topic: string): EventRow | null {
    return this.#pending.get(topic)?.[0] ?? null;
  }

  /** Takes constant time. */
  countPending(topic: string): number {
    return this.#pending.get(topic)?.length ?? 0;
  }

  expired(now: number, limit: number): readonly EventRow[] {
    const expired = [...this.#pending.values()].flat().filter((event) => event.expireAt <= now);
    return expired.sort((left, right) => left.expireAt - right.expireAt || left.n - right.n).slice(0, limit);
  }

  removeBefore(before: number, limit: number): number {
    let removed = 0;
    for (const event of this.#byId.values()) {
      if (removed === limit) break;
      if (event.pending || event.at >= before || this.#isHeld(event)) continue;
      this.#byId.delete(event.id);
      removed += 1;
    }
    return removed;
  }

  #isHeld({ holder, id }: EventRow): boolean {
    const memoryRun = holder === null ? undefined : this.#memoryRuns.get(holder);
    const known = memoryRun?.known.get(`event:event:${id}`);
    return known !== undefined && (memoryRun?.inbox.has(known.n) ?? false);
  }

  #dropPending(id: string): void {
    const event = this.#byId.get(id);
    if (event === undefined || !event.pending) return;
    const pending = this.#pending.get(event.topic) ?? [];
    const place = pending.findIndex((other) => other.n === event.n);
    if (place >= 0) pending.splice(place, 1);
    if (pending.length === 0) this.#pending.delete(event.topic);
  }
}

/** The changes of a transaction. They are not in `data` before `apply`. */
export class MemoryChanges {
  /** The handle that user code receives. */
  readonly tx: MemoryTx;
  readonly #data: Map<string, unknown>;
  readonly #changed = new Map<string, { readonly value: unknown } | null>();

  /** `check` throws if a value cannot be stored. */
  constructor(data: Map<string, unknown>, scope: TransactionScope, check: (key: string, value: unknown) => void) {
    this.#data = data;
    const checked =
      <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
      (...args: Args): Result => {
        scope.check();
        return call(...args);
      };
    this.tx = {
      get: checked((key) => structuredClone(this.#get(key))),
      set: checked((key, value) => {
        check(key, value);
        this.#changed.set(key, { value: structuredClone(value) });
      }),
      delete: checked((key) => void this.#changed.set(key, null)),
      keys: checked(() => this.#keys()),
    };
  }

  /** Applies the changes to `data`. Returns the changed keys. */
  apply(): readonly string[] {
    for (const [key, changed] of this.#changed) {
      if (changed === null) this.#data.delete(key);
      else this.#data.set(key, changed.value);
    }
    return [...this.#changed.keys()];
  }

  #get(key: string): unknown {
    const changed = this.#changed.get(key);
    return changed === undefined ? this.#data.get(key) : changed?.value;
  }

  #keys(): readonly string[] {
    const keys = new Set(this.#data.keys());
    for (const [key, changed] of this.#changed) {
      if (changed === null) keys.delete(key);
      else keys.add(key);
    }
    return [...keys];
  }
}
