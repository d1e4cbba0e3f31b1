import { type AppendOp, documentBytes, postBytes } from "../model/op.ts";
import type { JournalRecord, SeqRange } from "../model/record.ts";
import type { Undo } from "../model/run.ts";
import { type DocumentChange, emptyAppend, NO_ITEMS, type Post, type RunState } from "../model/transition.ts";
import { joinedRanges, type LoopRecords } from "./loop-records.ts";
import type { SessionStateListener } from "./session-ports.ts";

/** A record without its seq and time, which are 0. */
export type RecordDraft = { -readonly [Key in keyof JournalRecord]: JournalRecord[Key] };

/** The op under construction. Run and epoch are set when it is taken. */
type OpDraft = { -readonly [Field in keyof AppendOp]: AppendOp[Field] };

/** An op of more bytes gets no further record. Stores bound the size of one statement. */
const OP_BYTES = 8 * 1024 * 1024;

/**
 * Collects the changes of the run for the next commits, usually as one op. Assigns seq and time to records.
 *
 * 1. Ops are taken in the order in which they were filled. Each holds whole records: a record, its post, its trim, its consumed
 *    entries and its undo state are in the same op.
 */
export class PendingAppend {
  readonly #now: () => number;
  readonly #listener: Pick<SessionStateListener, "onFilled">;
  readonly #loopRecords: LoopRecords;
  #commitRequested = false;
  #seq: number;
  #lastAt: number;
  /** Null if there is nothing to append, to save memory in hot runs. */
  #op: OpDraft | null = null;
  /** Full ops that were not taken yet, oldest first. */
  #full: OpDraft[] | null = null;
  #isSplit = false;
  /** The bytes of the op under construction up to its newest record. */
  #bytes = 0;
  /** The bytes of posts and documents since then. They stay with the next record. */
  #ahead = 0;
  /** The document changes of the op, by document. */
  #documents: Map<string, DocumentChange> | null = null;
  /** The undo state of the row once the op is committed. */
  #undoState: Undo;
  #count: number;

  /** The listener is notified of the first commit request after each `takeOp`. */
  constructor(
    now: () => number,
    listener: Pick<SessionStateListener, "onFilled">,
    loopRecords: LoopRecords,
    last: { readonly seq: number; readonly at: number; readonly undo: Undo; readonly count: number },
  ) {
    this.#now = now;
    this.#listener = listener;
    this.#loopRecords = loopRecords;
    this.#seq = last.seq;
    this.#lastAt = last.at;
    this.#undoState = last.undo;
    this.#count = last.count;
  }

  get commitRequested(): boolean {
    return this.#commitRequested;
  }

  get holdsRecords(): boolean {
    return this.#full !== null || (this.#op !== null && this.#op.records.length > 0);
  }

  get seq(): number {
    return this.#seq;
  }

  /** The journal's record count once the op is committed. */
  get count(): number {
    return this.#count;
  }

  /** The current time, never before the newest record. */
  get at(): number {
    return Math.max(this.#lastAt, this.#now());
  }

  /** Assigns seq and time to the record, and adds it. */
  record(record: RecordDraft): JournalRecord {
    this.#lastAt = this.at;
    this.#seq += 1;
    this.#count += 1;
    record.seq = this.#seq;
    record.at = this.#lastAt;
    const op = this.#draftWithRoom();
    op.records = withItem(op.records, record);
    this.#bytes += this.#ahead + (record.payload?.length ?? 0);
    this.#ahead = 0;
    this.#loopRecords.note(record);
    return record;
  }

  /** Notes a record that an exclusive append has committed. */
  addCommitted(record: JournalRecord): void {
    this.#seq = record.seq;
    this.#count += 1;
    this.#lastAt = record.at;
    this.#loopRecords.note(record);
  }

  /** Deletes records with this append. */
  trim(ranges: readonly SeqRange[]): void {
    if (ranges.length === 0) return;
    const op = this.#draftWithRoom();
    for (const range of ranges) op.trim = withItem(op.trim, range);
    for (const { from, to } of ranges) this.#count -= to - from + 1;
  }

  consumeEntry(entry: number): void {
    const op = this.#draftWithRoom();
    op.taken = withItem(op.taken, entry);
  }

  post(post: Post): void {
    const op = this.#draftWithRoom();
    op.posts = withItem(op.posts, post);
    this.#ahead += postBytes(post);
  }

  /** A put replaces an earlier put of the same document. Other changes keep their order. */
  document(change: DocumentChange): void {
    this.#draft();
    this.#documents ??= new Map();
    this.#ahead += documentBytes(change);
    this.#documents.set("put" in change ? documentKey(change.put) : String(this.#documents.size), change);
  }

  state(state: RunState): void {
    this.#draft().state = state;
    this.requestCommit();
  }

  /** Sets the run's undo state. */
  undo(undo: Undo): void {
    if (undo !== this.#undoState) this.#draft().undo = undo;
    this.#undoState = undo;
  }

  /** Notes the undo state that an exclusive append has committed. */
  adoptUndo(undo: Undo): void {
    this.#undoState = undo;
  }

  get undoState(): Undo {
    return this.#undoState;
  }

  /** Requests a commit now. Without a request the op goes with the next commit. */
  requestCommit(): void {
    if (this.#commitRequested) return;
    this.#commitRequested = true;
    this.#listener.onFilled();
  }

  /** Whether another op follows the one that was taken last. It must be requested when the first is durable. */
  get isSplit(): boolean {
    return this.#isSplit;
  }

  /** Returns the oldest collected op. Null if there is nothing to append. */
  takeOp(runId: string, epoch: number): AppendOp | null {
    this.#commitRequested = false;
    const full = this.#takeFull();
    this.#isSplit = full !== null;
    const op = full ?? this.#takeDraft();
    if (op === null) return null;
    op.runId = runId;
    op.epoch = epoch;
    return op;
  }

  #takeFull(): OpDraft | null {
    const op = this.#full?.shift() ?? null;
    if (this.#full?.length === 0) this.#full = null;
    return op;
  }

  #takeDraft(): OpDraft | null {
    const op = this.#op;
    if (op === null) return null;
    const documents = this.#documents;
    if (op.records.length === 0 && op.state === null && documents === null) return null;
    this.#op = null;
    this.#bytes = 0;
    this.#documents = null;
    if (documents !== null) op.documents = [...documents.values()];
    // A program that runs ahead trims often in one op, mostly neighbouring ranges. A store may copy the journal's end for each range.
    if (op.trim.length > 1) op.trim = joinedRanges(op.trim);
    return op;
  }

  /** Starts another op if this one is full. Only what precedes a record, and the record itself, may be the first of an op. */
  #draftWithRoom(): OpDraft {
    if (this.#bytes >= OP_BYTES) this.#startAnother();
    return this.#draft();
  }

  /** The newest state of the row goes with the newest op. */
  #startAnother(): void {
    const state = this.#op?.state ?? null;
    const op = this.#takeDraft();
    if (op === null) return;
    op.state = null;
    this.#full ??= [];
    this.#full.push(op);
    if (state !== null) this.#draft().state = state;
  }

  #draft(): OpDraft {
    this.#op ??= emptyAppend("", 0);
    return this.#op;
  }
}

/** Adds to the op's own list, which the first item allocates. */
function withItem<Item>(items: readonly Item[], item: Item): readonly Item[] {
  if (items === NO_ITEMS) return [item];
  (items as Item[]).push(item);
  return items;
}

function documentKey({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return JSON.stringify([kind, id]);
}
