import type { AppendOp } from "../model/op.ts";
import type { JournalRecord, SeqRange } from "../model/record.ts";
import type { Undo } from "../model/run.ts";
import type { DocumentChange, Post, RunState } from "../model/transition.ts";
import type { DeskListener } from "./desk-listener.ts";
import type { Trail } from "./trail.ts";

const NOTHING: readonly never[] = [];

/** A record before it has its place in the journal: its seq and time are 0. */
export type RecordDraft = { -readonly [Key in keyof JournalRecord]: JournalRecord[Key] };

/** What a session has to add to its run, gathered until the next batch takes it as one op. Gives records their seq and time. */
export class Draft {
  readonly #now: () => number;
  readonly #listener: Pick<DeskListener, "onFilled">;
  readonly #trail: Trail;
  #announced = false;
  #seq: number;
  #lastAt: number;
  #records: readonly JournalRecord[] = NOTHING;
  #trim: SeqRange[] | null = null;
  #taken: number[] | null = null;
  #posts: Post[] | null = null;
  #documents: Map<string, DocumentChange> | null = null;
  #state: RunState | null = null;
  #undo: Undo | null = null;
  /** What the row says once everything is committed. */
  #undoRow: Undo;
  #count: number;
  #inbox: number | null = null;
  #notBefore: number | null = null;

  /** The listener is told when there is something that is to be committed, once until it is taken. */
  constructor(
    now: () => number,
    listener: Pick<DeskListener, "onFilled">,
    trail: Trail,
    last: { readonly seq: number; readonly at: number; readonly undo: Undo; readonly count: number },
  ) {
    this.#now = now;
    this.#listener = listener;
    this.#trail = trail;
    this.#seq = last.seq;
    this.#lastAt = last.at;
    this.#undoRow = last.undo;
    this.#count = last.count;
  }

  /** Whether it waits to be taken. */
  get announced(): boolean {
    return this.#announced;
  }

  get holdsRecords(): boolean {
    return this.#records.length > 0;
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
    if (this.#records === NOTHING) this.#records = [record];
    else (this.#records as JournalRecord[]).push(record);
    this.#trail.note(record);
    return record;
  }

  /** A record that was committed in an append of its own. */
  adopt(record: JournalRecord): void {
    this.#seq = record.seq;
    this.#count += 1;
    this.#lastAt = record.at;
    this.#trail.note(record);
  }

  /** Records to be dropped with this append. */
  trim(ranges: readonly SeqRange[]): void {
    if (ranges.length === 0) return;
    this.#trim ??= [];
    this.#trim.push(...ranges);
    for (const { from, to } of ranges) this.#count -= to - from + 1;
  }

  take(entry: number): void {
    this.#taken ??= [];
    this.#taken.push(entry);
  }

  post(post: Post): void {
    this.#posts ??= [];
    this.#posts.push(post);
  }

  /** A document that is put takes the place of one that was put before; all else is done in the order in which it came. */
  document(change: DocumentChange): void {
    this.#documents ??= new Map();
    this.#documents.set("put" in change ? documentKey(change.put) : String(this.#documents.size), change);
  }

  state(state: RunState): void {
    this.#state = state;
    this.announce();
  }

  /** What the run has to undo once all this is committed. */
  undo(undo: Undo): void {
    if (undo !== this.#undoRow) this.#undo = undo;
    this.#undoRow = undo;
  }

  /** What an append of its own has made of the row. */
  adoptUndo(undo: Undo): void {
    this.#undoRow = undo;
  }

  get undoRow(): Undo {
    return this.#undoRow;
  }

  /** What is gathered is to be committed now; without it, it goes with whatever comes next. */
  announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#listener.onFilled();
  }

  /** A decision rests on the inbox holding nothing after `seen`: the oldest such decision guards the whole. */
  guardInbox(seen: number): void {
    this.#inbox = this.#inbox === null ? seen : Math.min(this.#inbox, seen);
  }

  /** A decision rests on this time having come. */
  guardTime(at: number): void {
    this.#notBefore = this.#notBefore === null ? at : Math.max(this.#notBefore, at);
  }

  /** Everything gathered, as one op; null if there is nothing. */
  takeOp(runId: string, epoch: number): AppendOp | null {
    this.#announced = false;
    if (this.#records.length === 0 && this.#state === null && this.#documents === null) return null;
    const op: AppendOp = {
      kind: "append",
      runId,
      epoch,
      records: this.#records,
      trim: this.#trim ?? NOTHING,
      taken: this.#taken ?? NOTHING,
      posts: this.#posts ?? NOTHING,
      documents: this.#documents === null ? NOTHING : [...this.#documents.values()],
      state: this.#state,
      undo: this.#undo,
      inbox: this.#inbox,
      notBefore: this.#notBefore,
      transaction: null,
    };
    this.#records = NOTHING;
    this.#trim = null;
    this.#taken = null;
    this.#posts = null;
    this.#documents = null;
    this.#state = null;
    this.#undo = null;
    this.#inbox = null;
    this.#notBefore = null;
    return op;
  }
}

function documentKey({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return JSON.stringify([kind, id]);
}
