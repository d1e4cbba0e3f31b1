import {
  CANCELLED_DOCUMENT,
  type DocumentAttributes,
  OPEN_DOCUMENT,
  type StoredDocument,
} from "../../model/transition.ts";
import type { WorkflowRef } from "../../model/workflow-ref.ts";
import type { WorkerRow } from "../store.ts";
import type { DocumentTable, LetterRow, LetterTable, WorkerTable } from "../tables.ts";

/** In the order in which they died. */
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

  /** A row from elsewhere, with the number that it has there. */
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

  /** The newest first, of those below `n`. */
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

  /** The first, but for this one. */
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
