import type { StoredDocument } from "../../model/transition.ts";
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

  get(kind: string, id: string): StoredDocument | null {
    return this.#kinds.get(kind)?.get(id) ?? null;
  }

  ofKind(kind: string): StoredDocument[] {
    return [...(this.#kinds.get(kind)?.values() ?? [])];
  }

  of(runId: string): readonly StoredDocument[] {
    return [...this.#kinds.values()].flatMap((kind) => [...kind.values()].filter((each) => each.runId === runId));
  }

  put(document: StoredDocument): void {
    const kind = this.#kinds.get(document.kind) ?? new Map<string, StoredDocument>();
    this.#kinds.set(document.kind, kind.set(document.id, document));
  }

  remove(kind: string, id: string): void {
    this.#kinds.get(kind)?.delete(id);
  }

  removeOf(runId: string): void {
    for (const kind of this.#kinds.values()) {
      for (const document of kind.values()) if (document.runId === runId) kind.delete(document.id);
    }
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
