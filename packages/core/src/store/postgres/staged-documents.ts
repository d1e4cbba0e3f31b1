import {
  CANCELLED_DOCUMENT,
  type DocumentAttributes,
  OPEN_DOCUMENT,
  type StoredDocument,
} from "../../model/transition.ts";
import type { DocumentTable } from "../../rules/tables.ts";
import { pairKey, RowsMissing } from "./known-rows.ts";
import { notInCommit, type StagedRuns } from "./staged-runs.ts";

/** The change of one document in a commit. */
export type StagedDocument =
  | { readonly what: "put"; readonly document: StoredDocument }
  | { readonly what: "remove"; readonly kind: string; readonly id: string }
  /** Put if missing; otherwise the existing one is marked. */
  | { readonly what: "create"; readonly document: StoredDocument; readonly marks: DocumentAttributes }
  | { readonly what: "mark"; readonly kind: string; readonly id: string; readonly marks: DocumentAttributes }
  /** Put if the stored document is still the one that was seen. */
  | { readonly what: "revise"; readonly document: StoredDocument; readonly seen: StoredDocument | null };

/** Changes of documents during a commit. Most need no read: the database applies them to the stored rows. */
export class StagedDocumentTable implements DocumentTable {
  readonly changes = new Map<string, StagedDocument>();
  /** Runs whose open documents are cancelled, before all other changes of documents. */
  readonly closed = new Set<string>();
  readonly #runs: StagedRuns;

  constructor(runs: StagedRuns) {
    this.#runs = runs;
  }

  /** Whether there are only puts and removals. */
  get isPlain(): boolean {
    if (this.closed.size > 0) return false;
    for (const { what } of this.changes.values()) if (what !== "put" && what !== "remove") return false;
    return true;
  }

  get(kind: string, id: string): StoredDocument | null {
    const change = this.changes.get(pairKey(kind, id));
    if (change?.what === "remove") return null;
    if (change?.what === "put" || change?.what === "revise") return change.document;
    const known = this.#found(kind, id);
    if (change?.what === "create" && known === null) return change.document;
    return known === null || change === undefined ? known : marked(known, change.marks);
  }

  put(document: StoredDocument): void {
    this.#set({ what: "put", document });
  }

  create(document: StoredDocument): void {
    const { kind, id } = document;
    const change = this.changes.get(pairKey(kind, id));
    if (change === undefined) this.#set({ what: "create", document, marks: {} });
    else if (change.what === "remove") this.put(document);
    else if (change.what === "mark") this.#set({ what: "create", document, marks: change.marks });
  }

  mark(kind: string, id: string, attributes: DocumentAttributes): void {
    const change = this.changes.get(pairKey(kind, id));
    if (change === undefined) this.#set({ what: "mark", kind, id, marks: attributes });
    else if (change.what === "put" || change.what === "revise") {
      this.#set({ ...change, document: marked(change.document, attributes) });
    } else if (change.what === "mark") this.#set({ ...change, marks: { ...change.marks, ...attributes } });
    else if (change.what === "create") {
      const marks = { ...change.marks, ...attributes };
      this.#set({ what: "create", document: marked(change.document, attributes), marks });
    }
  }

  closeOf(runId: string): void {
    this.closed.add(runId);
    for (const change of [...this.changes.values()]) {
      if (!("document" in change)) continue;
      const document = this.#closed(change.document);
      if (change.what !== "revise") this.#set({ ...change, document });
      else this.#set({ ...change, document, seen: change.seen === null ? null : this.#closed(change.seen) });
    }
  }

  /** A document that this commit put replaces any stored one. Otherwise the stored one must be the one that was read. */
  revise(_seen: StoredDocument | null, document: StoredDocument): void {
    const change = this.changes.get(pairKey(document.kind, document.id));
    if (change?.what === "put" || change?.what === "remove") this.put(document);
    else if (change?.what === "revise") this.#set({ ...change, document });
    else this.#set({ what: "revise", document, seen: this.#found(document.kind, document.id) });
  }

  remove(kind: string, id: string): void {
    this.#set({ what: "remove", kind, id });
  }

  removeOf(): never {
    return notInCommit("documents.removeOf");
  }

  #closed(document: StoredDocument): StoredDocument {
    const { runId, attributes } = document;
    if (runId === null || !this.closed.has(runId) || attributes.d !== OPEN_DOCUMENT) return document;
    return marked(document, { d: CANCELLED_DOCUMENT });
  }

  /** The document as the database has it after the cancellations of this commit. */
  #found(kind: string, id: string): StoredDocument | null {
    const { rows, wanted } = this.#runs;
    const known = rows.documents.get(pairKey(kind, id));
    if (known !== undefined) return known === null ? null : this.#closed(known);
    wanted.documents.set(pairKey(kind, id), { kind, id });
    throw new RowsMissing();
  }

  #set(change: StagedDocument): void {
    const { kind, id } = "document" in change ? change.document : change;
    this.changes.set(pairKey(kind, id), change);
  }
}

function marked(document: StoredDocument, marks: DocumentAttributes): StoredDocument {
  return { ...document, attributes: { ...document.attributes, ...marks } };
}
