import type { JournalRecord } from "../../model/record.ts";
import type { Payload } from "../../model/run.ts";

/** What many records have in common. */
type Manner = Pick<JournalRecord, "kind" | "outcome" | "attempts" | "detail">;

/** That of most. */
const USUAL: Manner = { kind: "step", outcome: "ok", attempts: 1, detail: null };

/** How many items of either list belong to one record. */
const STRIDE = 3;

/**
 * The records of one run in the order of their seq, without an object for each: most runs of a store have ended and are only kept, and
 * objects, with a box for each of their times, take twice the memory.
 */
export class Journal {
  /** Seq, start and time of each. */
  #numbers: number[] | null = null;
  /** Location, payload and manner of each. */
  #parts: Array<Payload | Manner> = [];

  get length(): number {
    return this.#parts.length / STRIDE;
  }

  /** Null: it holds no record. */
  get newestSeq(): number | null {
    return this.length === 0 ? null : this.#seqAt(this.length - 1);
  }

  push(record: JournalRecord): void {
    const { seq, location, payload, startedAt, at } = record;
    const manner = this.#mannerOf(record);
    if (this.#numbers === null) this.#numbers = [seq, startedAt, at];
    else this.#numbers.push(seq, startedAt, at);
    this.#parts.push(location, payload, manner);
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
    this.#numbers = null;
    this.#parts = [];
    for (const record of records) this.push(record);
  }

  /** One that is as the record before it shares its manner. */
  #mannerOf({ kind, outcome, attempts, detail }: Manner): Manner {
    const isAs = (other: Manner): boolean =>
      other.kind === kind && other.outcome === outcome && other.attempts === attempts && other.detail === detail;
    if (isAs(USUAL)) return USUAL;
    const before = this.#parts.at(-1) as Manner | undefined;
    return before !== undefined && isAs(before) ? before : { kind, outcome, attempts, detail };
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
    return this.#number(index, 0);
  }

  #number(index: number, which: 0 | 1 | 2): number {
    return this.#numbers?.[index * STRIDE + which] ?? 0;
  }

  #recordAt(index: number): JournalRecord {
    const from = index * STRIDE;
    const [location, payload, manner] = this.#parts.slice(from, from + STRIDE) as [string, Payload, Manner];
    return {
      seq: this.#seqAt(index),
      location,
      kind: manner.kind,
      outcome: manner.outcome,
      payload,
      attempts: manner.attempts,
      startedAt: this.#number(index, 1),
      at: this.#number(index, 2),
      detail: manner.detail,
    };
  }
}
