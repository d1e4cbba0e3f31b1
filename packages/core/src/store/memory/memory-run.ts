import type { InboxEntry } from "../../model/inbox.ts";
import type { JournalRecord } from "../../model/record.ts";
import type { NewRun, Payload, Run, Wait } from "../../model/run.ts";
import { runOf } from "../../rules/run-head.ts";
import type { RunHead } from "../../rules/tables.ts";

/** The inbox entries that a run has received or still has, to detect duplicates. */
type Known = Map<string, { readonly n: number; readonly at: number }>;

/** A run in memory, with its journal and inbox. Most runs have no inbox and no topics, so these maps are created on first access. */
export class MemoryRun {
  tags: NewRun["tags"];
  readonly parent: NewRun["parent"];
  limits: NewRun["limits"];
  head: RunHead;
  input: Payload;
  wait: Wait | null = null;
  outcome: Payload = null;
  readonly journal = new Journal();
  /** Grows with each change of the head. A due-queue entry with an older stamp is outdated. */
  dueStamp = 0;
  #inbox: Map<number, InboxEntry> | null = null;
  #known: Known | null = null;
  #topics: Set<string> | null = null;
  #topicSeen: Map<string, number> | null = null;

  constructor({ tags, parent, input, limits }: Pick<NewRun, "tags" | "parent" | "input" | "limits">, head: RunHead) {
    this.tags = tags;
    this.parent = parent;
    this.limits = limits;
    this.head = head;
    this.input = input;
  }

  get inbox(): Map<number, InboxEntry> {
    this.#inbox ??= new Map();
    return this.#inbox;
  }

  /** Returns the entries after this number, without a look at the others. */
  entriesAfter(after: number): readonly InboxEntry[] {
    const entries = this.#inbox;
    if (entries === null) return [];
    if (this.head.inboxLast - after >= entries.size) return [...entries.values()].filter(({ n }) => n > after);
    const found: InboxEntry[] = [];
    for (let n = after + 1; n <= this.head.inboxLast; n += 1) {
      const entry = entries.get(n);
      if (entry !== undefined) found.push(entry);
    }
    return found;
  }

  /** Every entry that ever reached the inbox, by kind and id. */
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
  if (memoryRun === undefined) throw new Error(`run ${head.id} not found`);
  return memoryRun;
}

export function runOfMemory({ head, input, tags, parent, wait, outcome, limits }: MemoryRun): Run {
  return runOf(head, { input, tags, parent, wait, outcome, ...(limits === undefined ? {} : { limits }) });
}

/** Fields that are omitted for a usual record: a successful step with one attempt, whose seq follows the previous one. */
type UnusualFields = Pick<JournalRecord, "seq" | "kind" | "outcome" | "attempts" | "detail">;

/**
 * The records of one run in order of seq, without an object per record. Most runs of a store have ended, and objects with boxed times
 * take more than twice the memory.
 */
export class Journal {
  /** `startedAt` and `at` of each record. */
  #times: number[] | null = null;
  /** Location and payload of each record. */
  #texts: Payload[] = [];
  #firstSeq = 1;
  /** The fields of unusual records, by index. */
  #unusual: Map<number, UnusualFields> | null = null;

  get length(): number {
    return this.#texts.length / 2;
  }

  /** Null if there is no record. */
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
    this.#unusual ??= new Map();
    this.#unusual.set(index, { seq, kind, outcome, attempts, detail });
  }

  /** Returns up to `limit` records after this seq. */
  after(seq: number, limit = this.length): JournalRecord[] {
    const start = this.#firstAfter(seq);
    const records: JournalRecord[] = [];
    for (let index = start; index < Math.min(start + limit, this.length); index++) records.push(this.#recordAt(index));
    return records;
  }

  /** Returns the seq before the last `count` records. */
  afterSeqOfLast(count: number): number {
    return count < this.length ? this.#seqAt(this.length - count - 1) : 0;
  }

  /** Deletes the records of these seqs. They are near the end, so the records before them are not copied. */
  trim(from: number, to: number): void {
    const start = this.#firstAfter(from - 1);
    const later = this.after(Math.max(to, from - 1));
    if (this.#unusual !== null) for (let index = start; index < this.length; index += 1) this.#unusual.delete(index);
    if (start === 0) this.#times = null;
    else if (this.#times !== null) this.#times.length = 2 * start;
    this.#texts.length = 2 * start;
    for (const record of later) this.push(record);
  }

  /** Removes the records for which `isKept` is false. */
  keep(isKept: (seq: number) => boolean): void {
    const records = this.after(0).filter(({ seq }) => isKept(seq));
    this.#times = null;
    this.#texts = [];
    this.#unusual = null;
    for (const record of records) this.push(record);
  }

  /** Returns the index of the first record after this seq. A binary search, because loops leave gaps in the seqs. */
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
    return this.#unusual?.get(index)?.seq ?? this.#firstSeq + index;
  }

  #recordAt(index: number): JournalRecord {
    const unusual = this.#unusual?.get(index);
    return {
      seq: unusual?.seq ?? this.#firstSeq + index,
      location: this.#texts[2 * index] as string,
      kind: unusual?.kind ?? "step",
      outcome: unusual?.outcome ?? "ok",
      payload: this.#texts[2 * index + 1] as Payload,
      attempts: unusual?.attempts ?? 1,
      startedAt: this.#times?.[2 * index] as number,
      at: this.#times?.[2 * index + 1] as number,
      detail: unusual?.detail ?? null,
    };
  }
}
