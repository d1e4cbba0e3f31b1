import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { NewRun, Payload, Run, Wait } from "../../model/run.ts";
import { runOf } from "../../rules/run-head.ts";
import type { RunHead } from "../../rules/tables.ts";

/** An entry that a run has had. */
type Known = Map<string, { readonly n: number; readonly at: number }>;

/** One run in memory, with all that belongs to it. Most runs have no inbox and no topics: those are made when they are asked for. */
export class MemoryRun {
  readonly tags: NewRun["tags"];
  readonly parent: NewRun["parent"];
  head: RunHead;
  input: Payload;
  wait: Wait | null = null;
  outcome: Payload = null;
  readonly journal = new Journal();
  /** Grows with each change of the head, so that what was noted about an earlier one is known to be stale. */
  dueStamp = 0;
  #inbox: Map<number, InboxEntry> | null = null;
  #known: Known | null = null;
  #topics: Set<string> | null = null;
  #topicSeen: Map<string, number> | null = null;

  constructor({ tags, parent, input }: Pick<NewRun, "tags" | "parent" | "input">, head: RunHead) {
    this.tags = tags;
    this.parent = parent;
    this.head = head;
    this.input = input;
  }

  get inbox(): Map<number, InboxEntry> {
    this.#inbox ??= new Map();
    return this.#inbox;
  }

  /** Every entry the run has had, by kind and id. */
  get known(): Known {
    this.#known ??= new Map();
    return this.#known;
  }

  get topics(): Set<string> {
    this.#topics ??= new Set();
    return this.#topics;
  }

  get topicSeen(): Map<string, number> {
    this.#topicSeen ??= new Map();
    return this.#topicSeen;
  }
}

export type MemoryRuns = Map<string, MemoryRun>;

export function memoryRunOf(memoryRuns: MemoryRuns, head: Pick<RunHead, "id">): MemoryRun {
  const memoryRun = memoryRuns.get(head.id);
  if (memoryRun === undefined) throw new Error(`run ${head.id} is not there`);
  return memoryRun;
}

export function runOfMemory({ head, input, tags, parent, wait, outcome }: MemoryRun): Run {
  return runOf(head, { input, tags, parent, wait, outcome });
}

/** What can be said of most records without keeping it: it follows the one before, and a step has gone well at the first try. */
type Manner = Pick<JournalRecord, "seq" | "kind" | "outcome" | "attempts" | "detail">;

/**
 * The records of one run in the order of their seq, without an object for each: most runs of a store have ended and are only kept, and
 * objects, with a box for each of their times, take more than twice the memory.
 */
export class Journal {
  /** Start and time of each. */
  #times: number[] | null = null;
  /** Location and payload of each. */
  #texts: Payload[] = [];
  #firstSeq = 1;
  /** What is to be said of those that are not like most, by their place. */
  #others: Map<number, Manner> | null = null;

  get length(): number {
    return this.#texts.length / 2;
  }

  /** Null: it holds no record. */
  get newestSeq(): number | null {
    return this.length === 0 ? null : this.#seqAt(this.length - 1);
  }

  push({ seq, location, kind, outcome, payload, attempts, startedAt, at, detail }: JournalRecord): void {
    if (this.#times === null) {
      this.#firstSeq = seq;
      this.#times = [startedAt, at];
      this.#texts = [location, payload];
    } else {
      this.#times.push(startedAt, at);
      this.#texts.push(location, payload);
    }
    const index = this.length - 1;
    const isUsual = kind === "step" && outcome === "ok" && attempts === 1 && detail === null;
    if (isUsual && seq === this.#firstSeq + index) return;
    this.#others ??= new Map();
    this.#others.set(index, { seq, kind, outcome, attempts, detail });
  }

  /** Those after this seq, at most `limit`. */
  after(seq: number, limit = this.length): JournalRecord[] {
    const start = this.#firstAfter(seq);
    const records: JournalRecord[] = [];
    for (let index = start; index < Math.min(start + limit, this.length); index++) records.push(this.#recordAt(index));
    return records;
  }

  /** The seq after which the last `count` lie. */
  afterSeqOfLast(count: number): number {
    return count < this.length ? this.#seqAt(this.length - count - 1) : 0;
  }

  /** Drops those whose seq is not to stay. */
  keep(stays: (seq: number) => boolean): void {
    const records = this.after(0).filter(({ seq }) => stays(seq));
    this.#times = null;
    this.#texts = [];
    this.#others = null;
    for (const record of records) this.push(record);
  }

  /** Seqs have gaps where a loop has dropped its rounds, so the place is searched for. */
  #firstAfter(seq: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#seqAt(middle) > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #seqAt(index: number): number {
    return this.#others?.get(index)?.seq ?? this.#firstSeq + index;
  }

  #recordAt(index: number): JournalRecord {
    const other = this.#others?.get(index);
    return {
      seq: other?.seq ?? this.#firstSeq + index,
      location: this.#texts[2 * index] as string,
      kind: other?.kind ?? "step",
      outcome: other?.outcome ?? "ok",
      payload: this.#texts[2 * index + 1] as Payload,
      attempts: other?.attempts ?? 1,
      startedAt: this.#times?.[2 * index] as number,
      at: this.#times?.[2 * index + 1] as number,
      detail: other?.detail ?? null,
    };
  }
}
