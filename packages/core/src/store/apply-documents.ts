import { isTerminal } from "../model/run.ts";
import type { Answer, DocumentChange, StoredDocument, Transition } from "../model/transition.ts";
import { applyPost } from "./apply-post.ts";
import type { Batch } from "./batch.ts";

/** What transitions do to documents. */

type Revise = Extract<Transition, { kind: "revise" }>;

const CHANGED: Answer = { kind: "refused", reason: "changed" };

export function applyDocuments({ tables }: Batch, changes: readonly DocumentChange[]): void {
  const { documents } = tables;
  for (const change of changes) {
    if ("put" in change) documents.put(change.put);
    else if ("create" in change) documents.create(change.create);
    else if ("mark" in change) documents.mark(change.mark.kind, change.mark.id, change.mark.attributes);
    else documents.remove(change.remove.kind, change.remove.id);
  }
}

/** One that is there already as it is to be was put by this very transition: no two who revise a document write the same. */
export function applyRevise(batch: Batch, { seen, document, post }: Revise): Answer {
  const { tables } = batch;
  const found = tables.documents.get(document.kind, document.id);
  if (found !== null && isSameDocument(found, document)) return { kind: "applied", post: null, again: true };
  if (!(found === null ? seen === null : seen !== null && isSameDocument(found, seen))) return CHANGED;
  if (post !== null) {
    const head = tables.runs.head(post.to);
    if (head === null) return { kind: "refused", reason: "notFound" };
    if (isTerminal(head.status)) return { kind: "refused", reason: "terminal", status: head.status };
  }
  tables.documents.revise(found, document);
  if (post !== null) applyPost(batch, post);
  return { kind: "applied", post: null, again: false };
}

export function isSameDocument(left: StoredDocument, right: StoredDocument): boolean {
  const isSame = (name: "a" | "b" | "c" | "d"): boolean => left.attributes[name] === right.attributes[name];
  return (
    left.kind === right.kind &&
    left.id === right.id &&
    left.runId === right.runId &&
    left.body === right.body &&
    isSame("a") &&
    isSame("b") &&
    isSame("c") &&
    isSame("d")
  );
}
