import type { JournalRecord } from "../model/record.ts";
import { isTerminal } from "../model/run.ts";
import type { Answer, Append, RunState, Transition } from "../model/transition.ts";
import { applyDocuments, applyRevise } from "./apply-documents.ts";
import { applyPost, type DirectPost } from "./apply-post.ts";
import { applyState } from "./apply-state.ts";
import type { Batch } from "./batch.ts";
import { changeJournal, hasMoved } from "./change-journal.ts";
import { draftOf } from "./head-draft.ts";
import type { RunHead } from "./tables.ts";
import type { TransactionEnd } from "./tx-desk.ts";

/**
 * What each transition does to the rows. Guards come first, and nothing is written before the last of them has passed: a
 * refused transition leaves no trace.
 */

type Create = Extract<Transition, { kind: "create" }>;
type Control = Extract<Transition, { kind: "control" }>;
type Letter = Extract<Transition, { kind: "letter" }>;

const APPLIED: Answer = { kind: "applied", post: null, again: false };
const AGAIN: Answer = { kind: "applied", post: null, again: true };
const NO_CODE: TransactionEnd = { kind: "returned", enlisted: [] };
/** What is made of a run from outside that ends what it has open. A program that completes ends it by itself. */
const CLOSING: ReadonlySet<RunState["status"]> = new Set(["reopened", "compensating", "failed", "cancelled"]);
const NOT_FOUND: Answer = { kind: "refused", reason: "notFound" };

export function applyTransition(batch: Batch, transition: Transition): Answer {
  switch (transition.kind) {
    case "create":
      return applyCreate(batch, transition);
    case "append":
      return applyAppend(batch, transition);
    case "control":
      return applyControl(batch, transition);
    case "post":
      return answerPost(batch, transition.post);
    case "letter":
      return applyLetter(batch, transition);
    case "documents":
      applyDocuments(batch, transition.documents);
      return APPLIED;
    case "revise":
      return applyRevise(batch, transition);
  }
}

function applyCreate(batch: Batch, { run, history }: Create): Answer {
  if (batch.create(run, history)) return APPLIED;
  const head = batch.tables.runs.head(run.id);
  if (head === null) return NOT_FOUND;
  if (head.startId === run.startId) return AGAIN;
  return { kind: "refused", reason: "exists", status: head.status, epoch: head.epoch };
}

function applyAppend(batch: Batch, append: Append): Answer {
  const { tables } = batch;
  if (isPlain(append) && tables.journal.appendGuarded(append.runId, append.epoch, append.records)) return APPLIED;
  const head = tables.runs.head(append.runId);
  if (head === null) return NOT_FOUND;
  const refusal = guardAppend(batch, head, append);
  if (refusal !== null) return refusal;
  const code = append.transaction === null ? NO_CODE : tables.transact(append.transaction);
  if (code.kind === "threw") return { kind: "refused", reason: "threw", error: code.error };
  if (append.records.length > 0) tables.journal.append(head, append.records);
  for (const range of append.trim) tables.journal.trim(head, range);
  for (const n of append.taken) tables.inbox.take(head, n);
  applyDocuments(batch, append.documents);
  if (append.state !== null || append.undo !== null) applyRow(batch, head, append);
  for (const post of append.posts) applyPost(batch, post);
  // Last, since what was asked for in the code may be about this very run.
  for (const { transition, settle } of code.enlisted) settle(applyTransition(batch, transition));
  return APPLIED;
}

/** What there is to undo says which status the state gives; it is written after it, as the last word on the row. */
function applyRow(batch: Batch, head: RunHead, { state, turn, undo }: Append): void {
  const next = draftOf(head);
  next.undo = undo ?? head.undo;
  if (state !== null) {
    next.turn = turn;
    if (state.status === "failed" || state.status === "cancelled") batch.tables.documents.closeOf(next.id);
    applyState(batch, next, state);
  }
  if (next.undo !== head.undo) batch.tables.runs.saveUndo(next);
}

/** The common case: records alone, whose guard is a part of the statement that writes them. */
function isPlain(append: Append): boolean {
  return (
    append.state === null &&
    append.records.length > 0 &&
    append.posts.length === 0 &&
    append.taken.length === 0 &&
    append.trim.length === 0 &&
    append.documents.length === 0 &&
    append.undo === null &&
    append.inbox === null &&
    append.notBefore === null &&
    append.transaction === null
  );
}

/** Turns and seqs of one epoch only grow, so one that is there already was brought by this very transition. */
function guardAppend(batch: Batch, head: RunHead, append: Append): Answer | null {
  if (head.epoch !== append.epoch) return { kind: "refused", reason: "fenced", epoch: head.epoch };
  if (append.state !== null ? head.turn >= append.turn : holdsFirst(batch, head, append.records)) return AGAIN;
  if (isTerminal(head.status)) return { kind: "refused", reason: "terminal", status: head.status };
  if (append.inbox !== null && head.inboxLast !== append.inbox) {
    return { kind: "refused", reason: "inbox", inboxLast: head.inboxLast };
  }
  if (append.notBefore !== null && append.notBefore > batch.now) {
    return { kind: "refused", reason: "early", now: batch.now };
  }
  return null;
}

function holdsFirst(batch: Batch, head: RunHead, records: readonly JournalRecord[]): boolean {
  const [first] = records;
  return first !== undefined && first.seq <= batch.tables.journal.newestSeq(head);
}

function applyControl(batch: Batch, control: Control): Answer {
  const head = batch.tables.runs.head(control.runId);
  if (head === null) return NOT_FOUND;
  if (head.controlId === control.controlId) return AGAIN;
  const { journal, state } = control;
  if (isTerminal(head.status) && state.status !== "reopened") {
    return { kind: "refused", reason: "terminal", status: head.status };
  }
  if (head.epoch !== control.epoch) return { kind: "refused", reason: "fenced", epoch: head.epoch };
  if (control.undo !== null && head.undo !== control.undo) {
    return { kind: "refused", reason: "fenced", epoch: head.epoch };
  }
  const moved = journal === null ? null : hasMoved(batch, head, journal);
  if (moved !== null) return moved;
  const next = draftOf(head);
  next.epoch = head.epoch + 1;
  next.turn = 0;
  next.owner = null;
  next.controlId = control.controlId;
  if (journal !== null) changeJournal(batch, next, journal);
  if (CLOSING.has(state.status)) batch.tables.documents.closeOf(next.id);
  applyState(batch, next, state);
  if (next.undo !== head.undo) batch.tables.runs.saveUndo(next);
  if (next.inboxLast > head.inboxLast) batch.tables.runs.saveInbox(next);
  for (const post of control.posts) applyPost(batch, post);
  return APPLIED;
}

function answerPost(batch: Batch, post: DirectPost): Answer {
  const answer = applyPost(batch, post);
  return { kind: "applied", post: answer, again: answer.kind === "duplicate" };
}

/**
 * The event's id is forgotten together with its letter, so that it may be posted again under the same one. A letter that
 * is gone while its post is known was taken away by this very transition.
 */
function applyLetter(batch: Batch, { letterId, post }: Letter): Answer {
  const { tables } = batch;
  const letter = tables.letters.get(letterId);
  if (letter === null) return post !== null && isKnown(batch, post) ? answerPost(batch, post) : NOT_FOUND;
  tables.letters.remove(letterId);
  const event = letter.kind === "event" ? tables.events.get(letter.postId) : null;
  if (event !== null && !event.pending && event.holder === null) tables.events.remove(event);
  return post === null ? APPLIED : answerPost(batch, post);
}

function isKnown(batch: Batch, post: DirectPost): boolean {
  if (post.kind === "event") return batch.tables.events.get(post.id) !== null;
  const head = batch.tables.runs.head(post.to);
  return head !== null && batch.tables.inbox.knows(head, post.kind, post.id);
}
