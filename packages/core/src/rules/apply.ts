import type { InboxEntry } from "../model/inbox.ts";
import type { JournalRecord } from "../model/record.ts";
import { isTerminal } from "../model/run.ts";
import type {
  Answer,
  Append,
  DocumentChange,
  JournalChange,
  RunState,
  StoredDocument,
  Transition,
} from "../model/transition.ts";
import { applyPost, type DirectPost } from "./apply-post.ts";
import { applyState } from "./apply-state.ts";
import type { Batch } from "./batch.ts";
import { draftOf, numbered } from "./run-head.ts";
import type { HeadDraft, RunHead } from "./tables.ts";
import type { TransactionEnd } from "./transaction-scope.ts";

type Create = Extract<Transition, { kind: "create" }>;
type Control = Extract<Transition, { kind: "control" }>;
type Letter = Extract<Transition, { kind: "letter" }>;
type Revise = Extract<Transition, { kind: "revise" }>;

const APPLIED: Answer = { kind: "applied", post: null, again: false };
const AGAIN: Answer = { kind: "applied", post: null, again: true };
const NO_CODE: TransactionEnd = { kind: "returned", enlisted: [] };
/** Control states that close a run's open documents. A program that completes closes them itself. */
const CLOSING: ReadonlySet<RunState["status"]> = new Set(["reopened", "compensating", "failed", "cancelled"]);
const NOT_FOUND: Answer = { kind: "refused", reason: "notFound" };
const CHANGED: Answer = { kind: "refused", reason: "changed" };

/**
 * Applies a transition to the rows. All guards are checked before the first write, so a refused transition leaves no trace.
 */
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
  // Last, because a transition enlisted by the code may concern this run.
  for (const { transition, settle } of code.enlisted) settle(applyTransition(batch, transition));
  return APPLIED;
}

/** `undo` is set before the state, which depends on it, and written after it. */
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

/** The common case: only records. The statement that writes them checks their guard. */
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

/** Turns and seqs of one epoch only grow. So a turn or seq that is already stored was written by this same transition. */
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
  const ended = isTerminal(head.status) ? head.status : null;
  if (ended !== null && state.status !== "reopened" && state.status !== "restarted") {
    return { kind: "refused", reason: "terminal", status: ended };
  }
  if (head.epoch !== control.epoch) return { kind: "refused", reason: "fenced", epoch: head.epoch };
  if (control.undo !== null && head.undo !== control.undo) {
    return { kind: "refused", reason: "fenced", epoch: head.epoch };
  }
  if (state.status === "restarted" && ended === null) return movedTo(batch, head);
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
 * Removes a dead letter, and posts it again if `post` is set. The id of an event is deleted with its letter, so that it can be
 * posted again. If the letter is gone but its post is known, this same transition was applied before.
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

/** The refusal of a journal change that no longer fits the run. Null if it fits. */
function hasMoved(batch: Batch, head: RunHead, { seen }: JournalChange): Answer | null {
  if (seen === null) return null;
  const isSame = batch.tables.journal.newestSeq(head) === seen.seq && head.status === seen.status;
  return isSame ? null : movedTo(batch, head);
}

function movedTo({ tables }: Batch, head: RunHead): Answer {
  return { kind: "refused", reason: "moved", seq: tables.journal.newestSeq(head), status: head.status };
}

/** Cuts the journal, appends records, and returns to the inbox what the dropped records received. */
function changeJournal(batch: Batch, next: HeadDraft, { cutAfter, add, restore }: JournalChange): void {
  const { tables } = batch;
  if (cutAfter !== null) {
    tables.journal.cutAfter(next, cutAfter);
    // A snapshot may contain state from after the cut. Without it the run is replayed from its records.
    tables.documents.remove("snapshot", next.id);
  }
  if (add.length > 0) {
    const first = tables.journal.newestSeq(next) + 1;
    tables.journal.append(
      next,
      add.map((record, index) => ({ ...record, seq: first + index })),
    );
  }
  if (restore.length > 0) restoreEntries(batch, next, restore);
}

/** Restored entries arrived before the current ones, so the current ones move behind them. */
function restoreEntries({ tables }: Batch, next: HeadDraft, restore: JournalChange["restore"]): void {
  const before = next.inboxLast;
  const waiting = tables.inbox.open(next);
  const add = (entry: Omit<InboxEntry, "n">): void => {
    if (tables.inbox.restore(next, numbered(next.inboxLast + 1, entry))) next.inboxLast += 1;
  };
  for (const entry of restore) add(entry);
  if (next.inboxLast === before) return;
  for (const entry of waiting) {
    tables.inbox.take(next, entry.n);
    add(entry);
  }
}

function applyDocuments({ tables }: Batch, changes: readonly DocumentChange[]): void {
  const { documents } = tables;
  for (const change of changes) {
    if ("put" in change) documents.put(change.put);
    else if ("create" in change) documents.create(change.create);
    else if ("mark" in change) documents.mark(change.mark.kind, change.mark.id, change.mark.attributes);
    else documents.remove(change.remove.kind, change.remove.id);
  }
}

/** Compares and sets a document. If the stored one equals the new one, this same transition was applied before: no two revisions are equal. */
function applyRevise(batch: Batch, { seen, document, post }: Revise): Answer {
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
