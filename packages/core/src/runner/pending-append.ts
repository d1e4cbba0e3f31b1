import type { AppendOp } from "../model/op.ts";
import type { JournalRecord, SeqRange } from "../model/record.ts";
import type { Undo } from "../model/run.ts";
import { type DocumentChange, emptyAppend, NO_ITEMS, type Post, type RunState } from "../model/transition.ts";
import type { LoopRecords } from "./loop-records.ts";
import type { SessionStateListener } from "./session-ports.ts";

/** A record before it has its place in the journal: its seq and time are 0. */
export type RecordDraft = { -readonly [Key in keyof JournalRecord]: JournalRecord[Key] };

/** An op that is being filled; it has no run before it is taken. */
type Gathered = { -readonly [Field in keyof AppendOp]: AppendOp[Field] };

/** What a session has to add to its run, gathered until the next batch takes it as one op. Gives records their seq and time. */
export class PendingAppend {
  readonly #now: () => number;
  readonly #listener: Pick<SessionStateListener, "onFilled">;
  readonly #loopRecords: LoopRecords;
  #commitRequested = false;
  #seq: number;
  #lastAt: number;
  /** Null: nothing has gathered, as in hot runs, which are many. */
  #gathered: Gathered | null = null;
  /** Those of what is gathered, by what they are about. */
  #documents: Map<string, DocumentChange> | null = null;
  /** What the row says once everything is committed. */
  #undoState: Undo;
  #count: number;

  /** The listener is told when there is something that is to be committed, once until it is taken. */
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

  /** Whether it waits to be taken. */
  get commitRequested(): boolean {
    return this.#commitRequested;
  }

  get holdsRecords(): boolean {
    return this.#gathered !== null && this.#gathered.records.length > 0;
  }

  /** Of the newest record. */
  get seq(): number {
    return this.#seq;
  }

  /** How many records the journal holds once everything is committed. */
  get count(): number {
    return this.#count;
  }

  /** The present, never before the newest record. */
  get at(): number {
    return Math.max(this.#lastAt, this.#now());
  }

  /** Gives the record its place and time, and keeps it. */
  record(record: RecordDraft): JournalRecord {
    this.#lastAt = this.at;
    this.#seq += 1;
    this.#count += 1;
    record.seq = this.#seq;
    record.at = this.#lastAt;
    const gathered = this.#gather();
    gathered.records = withItem(gathered.records, record);
    this.#loopRecords.note(record);
    return record;
  }

  /** A record that was committed in an append of its own. */
  addCommitted(record: JournalRecord): void {
    this.#seq = record.seq;
    this.#count += 1;
    this.#lastAt = record.at;
    this.#loopRecords.note(record);
  }

  /** Records to be dropped with this append. */
  trim(ranges: readonly SeqRange[]): void {
    if (ranges.length === 0) return;
    const gathered = this.#gather();
    gathered.trim = [...gathered.trim, ...ranges];
    for (const { from, to } of ranges) this.#count -= to - from + 1;
  }

  consumeEntry(entry: number): void {
    const gathered = this.#gather();
    gathered.taken = withItem(gathered.taken, entry);
  }

  post(post: Post): void {
    const gathered = this.#gather();
    gathered.posts = withItem(gathered.posts, post);
  }

  /** A document that is put takes the place of one that was put before; all else is done in the order in which it came. */
  document(change: DocumentChange): void {
    this.#gather();
    this.#documents ??= new Map();
    this.#documents.set("put" in change ? documentKey(change.put) : String(this.#documents.size), change);
  }

  state(state: RunState): void {
    this.#gather().state = state;
    this.requestCommit();
  }

  /** What the run has to undo once all this is committed. */
  undo(undo: Undo): void {
    if (undo !== this.#undoState) this.#gather().undo = undo;
    this.#undoState = undo;
  }

  /** What an append of its own has made of the row. */
  adoptUndo(undo: Undo): void {
    this.#undoState = undo;
  }

  get undoState(): Undo {
    return this.#undoState;
  }

  /** What is gathered is to be committed now; without it, it goes with whatever comes next. */
  requestCommit(): void {
    if (this.#commitRequested) return;
    this.#commitRequested = true;
    this.#listener.onFilled();
  }

  /** Everything gathered, as one op; null if there is nothing. */
  takeOp(runId: string, epoch: number): AppendOp | null {
    this.#commitRequested = false;
    const gathered = this.#gathered;
    if (gathered === null) return null;
    const documents = this.#documents;
    if (gathered.records.length === 0 && gathered.state === null && documents === null) return null;
    this.#gathered = null;
    this.#documents = null;
    gathered.runId = runId;
    gathered.epoch = epoch;
    if (documents !== null) gathered.documents = [...documents.values()];
    return gathered;
  }

  #gather(): Gathered {
    this.#gathered ??= emptyAppend("", 0);
    return this.#gathered;
  }
}

/** Adds to a list that is the draft's own, or is made so by its first item. */
function withItem<Item>(items: readonly Item[], item: Item): readonly Item[] {
  if (items === NO_ITEMS) return [item];
  (items as Item[]).push(item);
  return items;
}

function documentKey({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return JSON.stringify([kind, id]);
}
