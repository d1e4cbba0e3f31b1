import type { JournalRecord } from "../model/record.ts";

/** A journal in two: what stays and what goes. */
export interface Cut {
  readonly kind: "cut";
  readonly kept: readonly JournalRecord[];
  readonly dropped: readonly JournalRecord[];
}

export type CutRefusal =
  /** No record lies there. */
  | { readonly kind: "nothingThere" }
  /** The state that the loop had there is not in the journal any more. */
  | { readonly kind: "trimmed"; readonly loop: string }
  /** The step would stay, and it was undone. */
  | { readonly kind: "undone"; readonly location: string }
  /** The record that stopped the program would stay. */
  | { readonly kind: "stopped"; readonly seq: number };

/**
 * Cuts a journal before a record: by its seq, or at the first record at or under a location. Inside a loop that means the
 * beginning of the round, so that a round is run as a whole. 0 is the beginning.
 */
export function cutAt(records: readonly JournalRecord[], at: string | number): Cut | CutRefusal {
  if (at === 0) return cutBefore(records, 0, null);
  const index = records.findIndex(typeof at === "number" ? ({ seq }) => seq === at : isAtOrUnder(at));
  const found = records[index];
  if (found === undefined || found.kind === "operator") return { kind: "nothingThere" };
  const round = roundOf(typeof at === "number" ? found.location : at);
  const first = round === null ? index : records.findIndex(({ location }) => location.startsWith(`${round}/`));
  // A round without a record of its own begins with its note.
  return cutBefore(records, first < 0 ? index : first, round);
}

/** Cuts before the record at an index; `round` is the round of a loop that is run again. */
export function cutBefore(records: readonly JournalRecord[], index: number, round: string | null): Cut | CutRefusal {
  let end = index;
  // Tries of a step that is run again don't count, and acts are added again after the cut.
  while (end > 0 && (records[end - 1]?.kind === "retry" || records[end - 1]?.kind === "operator")) end -= 1;
  const kept = records.slice(0, end);
  const dropped = records.slice(end);
  return refusal(records, kept, dropped, round) ?? { kind: "cut", kept, dropped };
}

function refusal(
  records: readonly JournalRecord[],
  kept: readonly JournalRecord[],
  dropped: readonly JournalRecord[],
  round: string | null,
): CutRefusal | null {
  const stop = kept.find(({ kind }) => kind === "compensate");
  if (stop !== undefined) return { kind: "stopped", seq: stop.seq };
  const undone = new Set(dropped.flatMap(({ location }) => undoneBy(location)));
  const step = kept.find(({ location }) => undone.has(location));
  if (step !== undefined) return { kind: "undone", location: step.location };
  for (const loop of loopsOf(records)) {
    const isTouched =
      round?.startsWith(`${loop}/~`) === true || kept.some(({ location }) => location.startsWith(`${loop}/~`));
    if (isTouched && !canBegin(records, kept, loop)) return { kind: "trimmed", loop };
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

/** A segment of a location that is a round of a loop. */
const ROUND = /\/~\d+(?=\/|$)/g;

/** The path of the innermost round that a location lies in. */
function roundOf(location: string): string | null {
  const last = [...location.matchAll(ROUND)].at(-1);
  return last === undefined ? null : location.slice(0, last.index + last[0].length);
}

function loopsOf(records: readonly JournalRecord[]): ReadonlySet<string> {
  const loops = new Set<string>();
  for (const { location } of records) {
    for (const match of location.matchAll(ROUND)) loops.add(location.slice(0, match.index));
  }
  return loops;
}

/** Whether a replay finds where to begin with a loop: at its end, at a state that was noted, or at its first round. */
function canBegin(records: readonly JournalRecord[], kept: readonly JournalRecord[], loop: string): boolean {
  const notes = kept.filter(({ kind, location }) => kind === "loop" && loopOfNote(location) === loop);
  const newest = notes.at(-1);
  if (newest?.location === loop && newest.detail === null) return true;
  const begin = newest === undefined ? 0 : Number(newest.detail);
  if (begin > 0) return notes.some(({ location }) => location === `${loop}/~${begin}`);
  const prefix = `${loop}/~`;
  const rounds = records.filter(({ location }) => location.startsWith(prefix));
  // A checkpoint may be all that was left of a round.
  const isFirst = ({ location, kind }: JournalRecord): boolean =>
    kind !== "checkpoint" && Number.parseInt(location.slice(prefix.length), 10) === 0;
  return rounds.length === 0 || rounds.some(isFirst);
}

function loopOfNote(location: string): string {
  return location.replace(/\/~\d+$/, "");
}
