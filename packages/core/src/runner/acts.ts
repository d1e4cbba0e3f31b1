import { actOf, turns } from "../model/act.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord } from "../model/record.ts";
import type { RunFacts } from "../model/run.ts";
import type { JournalCursor } from "./journal-cursor.ts";
import type { Snapshot } from "./snapshot.ts";

/** Where a program's history begins. */
export interface Origin {
  /** Null: the run's own. */
  readonly seed: string | null;
  readonly at: number;
}

/** The payload of an `origin` record: the run that the history was copied from. */
export interface OriginOf {
  readonly run: string;
  readonly generation: number;
}

/** A run whose history was copied is replayed as the run that it was copied from. */
export function originOf(codec: Codec, run: RunFacts, records: readonly JournalRecord[]): Origin {
  const [first] = records;
  if (first === undefined || actOf(first) !== "origin") {
    return { seed: null, at: run.startedAt ?? run.createdAt };
  }
  return { seed: seedOf(codec.decode(first.payload) as OriginOf), at: first.startedAt };
}

export function seedOf({ run, generation }: OriginOf): string {
  return `${run}/${generation}`;
}

/** Counts those that lie in the records, and those that the snapshot knows of. */
export function editionOf(records: readonly JournalRecord[], snapshot: Snapshot | null): number {
  let edition = snapshot?.edition ?? 0;
  for (const record of records) if (isTurn(record)) edition += 1;
  return edition;
}

/** When an operator last sent the run another way; null: nobody did. */
export function turnedAt(
  records: readonly JournalRecord[],
  snapshot: { readonly turnedAt?: number | null } | null,
): number | null {
  return records.findLast(isTurn)?.at ?? snapshot?.turnedAt ?? null;
}

/** Where in its journal a program is, and at what time. */
export interface Place {
  readonly seq: number;
  readonly at: number;
}

/**
 * Goes past the acts that come next: the program has the time of the last that sent it another way. Where loops have dropped
 * records before an act, it does not come next.
 */
export function passActs(cursor: JournalCursor, place: Place): Place {
  let { seq, at } = place;
  for (let record = cursor.next; record !== null && record.kind === "operator"; record = cursor.next) {
    if (record.seq !== seq + 1) break;
    seq = record.seq;
    if (isTurn(record)) at = record.at;
    cursor.advance();
  }
  return { seq, at };
}

function isTurn(record: JournalRecord): boolean {
  const act = actOf(record);
  return act !== null && turns(act);
}
