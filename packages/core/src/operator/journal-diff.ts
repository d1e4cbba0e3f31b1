import type { RecordView } from "../engine/run-handle.ts";
import { kinds, type OptionKind, openTable, readArgument } from "../model/option-check.ts";
import { createCodec } from "../model/payload.ts";
import { leavesOpen } from "../model/record.ts";

/** The differences of two journals. Operator records, retries, starts, times and child ids are ignored. */
export interface JournalDiff {
  /** The number of equal records before the first difference. */
  readonly common: number;
  /** The first record of each journal after the common ones. Null at the end of a journal. Both are null if the journals are equal. */
  readonly parting: { readonly a: RecordView | null; readonly b: RecordView | null };
  /** Records with the same kind and location in both journals, but different content. */
  readonly changed: ReadonlyArray<{ readonly location: string; readonly a: RecordView; readonly b: RecordView }>;
  readonly onlyA: readonly RecordView[];
  readonly onlyB: readonly RecordView[];
}

/** The parts of a record that are compared; the others are only returned. */
const JOURNAL = kinds.list(
  kinds.options(
    openTable<RecordView>("the record", {
      seq: kinds.value,
      location: kinds.required(kinds.text),
      kind: kinds.required(kinds.text) as OptionKind<never>,
      outcome: kinds.required(kinds.text) as OptionKind<never>,
      value: kinds.value,
      error: kinds.required(kinds.nullable(kinds.error)),
      unreadable: kinds.nullable(kinds.error) as OptionKind<never>,
      detail: kinds.required(kinds.nullable(kinds.text)),
      attempts: kinds.value,
      startedAt: kinds.value,
      at: kinds.value,
    }),
  ),
  { max: Number.MAX_SAFE_INTEGER },
);

/** Compares two journals, for example those of a run and its fork. */
export function diff(journalA: readonly RecordView[], journalB: readonly RecordView[]): JournalDiff {
  const a = comparable(readArgument(JOURNAL, journalA, "journalA"));
  const b = comparable(readArgument(JOURNAL, journalB, "journalB"));
  let common = 0;
  while (common < a.length && common < b.length && isSame(a[common], b[common])) common += 1;
  const [restA, restB] = [byKey(a.slice(common)), byKey(b.slice(common))];
  const changed: Array<JournalDiff["changed"][number]> = [];
  for (const [key, record] of restA) {
    const other = restB.get(key);
    if (other !== undefined && !isSame(record, other)) changed.push({ location: record.location, a: record, b: other });
  }
  return {
    common,
    parting: { a: a[common] ?? null, b: b[common] ?? null },
    changed,
    onlyA: [...restA].flatMap(([key, record]) => (restB.has(key) ? [] : [record])),
    onlyB: [...restB].flatMap(([key, record]) => (restA.has(key) ? [] : [record])),
  };
}

function comparable(journal: readonly RecordView[]): readonly RecordView[] {
  return journal.filter((record) => record.kind !== "operator" && !leavesOpen(record));
}

function byKey(records: readonly RecordView[]): ReadonlyMap<string, RecordView> {
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

/** Child ids are not compared: they contain the parent's id, which differs between a run and its fork. */
function textOf({ location, kind, outcome, value, error, detail }: RecordView): string {
  const isChild = kind === "spawn";
  const failure = error === null ? null : { name: error.name, message: error.message };
  const content = { location, kind, outcome, value: isChild ? null : value, failure, detail: isChild ? null : detail };
  return PLAIN.encode(content, `record at ${location}`) ?? "";
}
