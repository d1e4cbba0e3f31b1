import type { JournalRecord, RecordKind } from "../model/record.ts";

/** A journal split into kept and dropped records. */
export interface Cut {
  readonly kind: "cut";
  readonly kept: readonly JournalRecord[];
  readonly dropped: readonly JournalRecord[];
}

export type CutRefusal =
  /** No record is there. */
  | { readonly kind: "nothingThere" }
  /** The loop has removed the state of that iteration from the journal. */
  | { readonly kind: "trimmed"; readonly loop: string }
  /** The kept part would contain a step that was rolled back. */
  | { readonly kind: "undone"; readonly location: string }
  /** The kept part would contain the record that stopped the program. */
  | { readonly kind: "stopped"; readonly seq: number };

/**
 * Cuts a journal before a record: by its seq, or at the first record at or under a location. Inside a loop the cut is at the start of
 * the iteration, so that an iteration runs as a whole. 0 cuts at the start of the journal.
 */
export function cutAt(records: readonly JournalRecord[], at: string | number): Cut | CutRefusal {
  if (at === 0) return cutBefore(records, 0, null);
  const index = records.findIndex(typeof at === "number" ? ({ seq }) => seq === at : isAtOrUnder(at));
  const found = records[index];
  if (found === undefined || found.kind === "operator") return { kind: "nothingThere" };
  const iteration = iterationOf(typeof at === "number" ? found.location : at);
  const first = iteration === null ? index : records.findIndex(({ location }) => location.startsWith(`${iteration}/`));
  // An iteration without a record starts with its state record.
  return cutBefore(records, first < 0 ? index : first, iteration);
}

/** Records before a cut that are dropped with it. */
const PASSING: ReadonlySet<RecordKind> = new Set(["started", "retry", "operator"]);

/** Cuts before the record at an index. `iteration` is the path of the loop iteration that runs again. */
export function cutBefore(
  records: readonly JournalRecord[],
  index: number,
  iteration: string | null,
): Cut | CutRefusal {
  let end = index;
  // Attempts of a step that runs again do not count. Operator records are added again after the cut.
  while (end > 0 && PASSING.has(records[end - 1]?.kind ?? "step")) end -= 1;
  const kept = records.slice(0, end);
  const dropped = records.slice(end);
  return refusal(records, kept, dropped, iteration) ?? { kind: "cut", kept, dropped };
}

function refusal(
  records: readonly JournalRecord[],
  kept: readonly JournalRecord[],
  dropped: readonly JournalRecord[],
  iteration: string | null,
): CutRefusal | null {
  const stop = kept.find(({ kind }) => kind === "compensate");
  if (stop !== undefined) return { kind: "stopped", seq: stop.seq };
  const undone = new Set(dropped.flatMap(({ location }) => undoneBy(location)));
  const step = kept.find(({ location }) => undone.has(location));
  if (step !== undefined) return { kind: "undone", location: step.location };
  for (const loop of loopsOf(records)) {
    const isTouched =
      iteration?.startsWith(`${loop}/~`) === true || kept.some(({ location }) => location.startsWith(`${loop}/~`));
    if (isTouched && !canStart(records, kept, loop)) return { kind: "trimmed", loop };
  }
  return null;
}

const UNDO_SUFFIX = "/~rollback";

function undoneBy(location: string): readonly string[] {
  return location.endsWith(UNDO_SUFFIX) ? [location.slice(0, -UNDO_SUFFIX.length)] : [];
}

function isAtOrUnder(at: string): (record: JournalRecord) => boolean {
  return ({ location, kind }) => kind !== "operator" && (location === at || location.startsWith(`${at}/`));
}

/** A segment of a location that names an iteration of a loop. */
const ITERATION = /\/~\d+(?=\/|$)/g;

/** The path of the innermost iteration that contains a location. */
function iterationOf(location: string): string | null {
  const last = [...location.matchAll(ITERATION)].at(-1);
  return last === undefined ? null : location.slice(0, last.index + last[0].length);
}

function loopsOf(records: readonly JournalRecord[]): ReadonlySet<string> {
  const loops = new Set<string>();
  for (const { location } of records) {
    for (const match of location.matchAll(ITERATION)) loops.add(location.slice(0, match.index));
  }
  return loops;
}

/** Whether replay can start the loop: at its end, at a recorded state, or at its first iteration. */
function canStart(records: readonly JournalRecord[], kept: readonly JournalRecord[], loop: string): boolean {
  const states = kept.filter(({ kind, location }) => kind === "loop" && loopOfState(location) === loop);
  const newest = states.at(-1);
  if (newest?.location === loop && newest.detail === null) return true;
  const start = newest === undefined ? 0 : Number(newest.detail);
  if (start > 0) return states.some(({ location }) => location === `${loop}/~${start}`);
  const prefix = `${loop}/~`;
  const iterations = records.filter(({ location }) => location.startsWith(prefix));
  // A checkpoint may be the only record left of an iteration.
  const isFirst = ({ location, kind }: JournalRecord): boolean =>
    kind !== "checkpoint" && Number.parseInt(location.slice(prefix.length), 10) === 0;
  return iterations.length === 0 || iterations.some(isFirst);
}

function loopOfState(location: string): string {
  return location.replace(/\/~\d+$/, "");
}
