import type { RecordView } from "../engine/run-handle.ts";
import { createCodec } from "../model/payload.ts";

/** Two journals beside each other. What operators did is left out, and so are times and tries. */
export interface JournalDiff {
  /** How many records are the same from the beginning on. */
  readonly common: number;
  /** The record of each that follows those; null: there is none. Both null: the journals are the same. */
  readonly parting: { readonly a: RecordView | null; readonly b: RecordView | null };
  /** Both have a record of this kind there, and it says something else. */
  readonly changed: ReadonlyArray<{ readonly location: string; readonly a: RecordView; readonly b: RecordView }>;
  readonly onlyA: readonly RecordView[];
  readonly onlyB: readonly RecordView[];
}

/** Compares what two runs did, as their journals tell it: a run and its fork, for one. */
export function diff(journalA: readonly RecordView[], journalB: readonly RecordView[]): JournalDiff {
  const [a, b] = [told(journalA), told(journalB)];
  let common = 0;
  while (common < a.length && common < b.length && isSame(a[common], b[common])) common += 1;
  const [restA, restB] = [byPlace(a.slice(common)), byPlace(b.slice(common))];
  const changed: Array<JournalDiff["changed"][number]> = [];
  for (const [place, record] of restA) {
    const other = restB.get(place);
    if (other !== undefined && !isSame(record, other)) changed.push({ location: record.location, a: record, b: other });
  }
  return {
    common,
    parting: { a: a[common] ?? null, b: b[common] ?? null },
    changed,
    onlyA: [...restA].flatMap(([place, record]) => (restB.has(place) ? [] : [record])),
    onlyB: [...restB].flatMap(([place, record]) => (restA.has(place) ? [] : [record])),
  };
}

function told(journal: readonly RecordView[]): readonly RecordView[] {
  return journal.filter(({ kind }) => kind !== "operator" && kind !== "retry");
}

function byPlace(records: readonly RecordView[]): ReadonlyMap<string, RecordView> {
  return new Map(records.map((record) => [`${record.kind} ${record.location}`, record]));
}

function isSame(a: RecordView | undefined, b: RecordView | undefined): boolean {
  return a !== undefined && b !== undefined && textOf(a) === textOf(b);
}

const PLAIN = createCodec(null, {
  bytesMax: Number.MAX_SAFE_INTEGER,
  warnBytes: Number.MAX_SAFE_INTEGER,
  onLarge: () => undefined,
});

/** A child's id is its parent's with something added, so it says nothing of what was done. */
function textOf({ location, kind, outcome, value, error, detail }: RecordView): string {
  const isChild = kind === "spawn";
  const failure = error === null ? null : { name: error.name, message: error.message };
  const told = { location, kind, outcome, value: isChild ? null : value, failure, detail: isChild ? null : detail };
  return PLAIN.encode(told, `record at ${location}`) ?? "";
}
