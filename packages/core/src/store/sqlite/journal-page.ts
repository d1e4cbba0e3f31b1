import type { JournalRecord } from "../../model/record.ts";
import { fromColumn, fromColumnOrNull, hasEscape } from "../text-column.ts";

/** Records of a journal that follow each other. What differs from one to the next is a list: texts as lines, numbers as JSON. */
export interface PageRow {
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** Of all of them, if they are alike: without a gap in their seqs, and none has a detail. */
  readonly kind: JournalRecord["kind"];
  readonly outcome: JournalRecord["outcome"];
  readonly attempts: number;
  readonly alike: number;
  readonly location: string;
  readonly payload: string;
  readonly at: string;
  readonly tookMs: string;
  /** The seqs of those that do not fit into such lists. */
  readonly apart: string;
}

/** What records have that are not alike: lists as well, all of them as JSON. */
export interface VariousRow {
  readonly seq: string;
  readonly kind: string;
  readonly outcome: string;
  readonly attempts: string;
  readonly detail: string;
  /** The seqs of those that tell what an operator did. */
  readonly acts: string;
}

/** The records of a page. `apart`: those that its lists cannot hold. */
export function readPage(
  row: PageRow,
  various: VariousRow | null,
  apart: readonly JournalRecord[],
): readonly JournalRecord[] {
  const { first, kind, outcome, attempts } = row;
  const locations = readLines(row.location);
  const payloads = readLines(row.payload);
  const ends: readonly number[] = JSON.parse(row.at);
  const tooks: readonly number[] = JSON.parse(row.tookMs);
  const records = locations.map((location, place): JournalRecord => {
    const at = ends[place] as number;
    const startedAt = at - (tooks[place] as number);
    const payload = payloads[place] || null;
    return { seq: first + place, location, kind, outcome, payload, attempts, startedAt, at, detail: null };
  });
  const whole = various === null ? records : withVarious(records, various);
  if (apart.length === 0) return whole;
  const bySeq = new Map(apart.map((record) => [record.seq, record]));
  return whole.map((record) => bySeq.get(record.seq) ?? record);
}

function withVarious(records: readonly JournalRecord[], various: VariousRow): readonly JournalRecord[] {
  const seqs: readonly number[] = JSON.parse(various.seq);
  const kinds: ReadonlyArray<JournalRecord["kind"]> = JSON.parse(various.kind);
  const outcomes: ReadonlyArray<JournalRecord["outcome"]> = JSON.parse(various.outcome);
  const attempts: readonly number[] = JSON.parse(various.attempts);
  const details = readTexts(various.detail);
  return records.map((record, place) => ({
    ...record,
    seq: seqs[place] as number,
    kind: kinds[place] as JournalRecord["kind"],
    outcome: outcomes[place] as JournalRecord["outcome"],
    attempts: attempts[place] as number,
    detail: details[place] as string | null,
  }));
}

/** As they are, they are no strings of JSON, which a parser would have to take apart and look up. */
function readLines(lines: string): readonly string[] {
  const texts = lines.split("\n");
  return hasEscape(lines) ? texts.map(fromColumn) : texts;
}

function readTexts(list: string): readonly (string | null)[] {
  const texts = JSON.parse(list) as readonly (string | null)[];
  return hasEscape(list) ? texts.map(fromColumnOrNull) : texts;
}
