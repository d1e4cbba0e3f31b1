import { changesCourse, operatorActionOf } from "../model/operator-action.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord, Records } from "../model/record.ts";
import type { RunFacts } from "../model/run.ts";
import type { Loaded } from "../store/store.ts";
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
export function originOf(codec: Codec, run: RunFacts, records: Records): Origin {
  const first = records.at(0);
  if (first === undefined || operatorActionOf(first) !== "origin") {
    return { seed: null, at: run.startedAt ?? run.createdAt };
  }
  return { seed: seedOf(codec.decode(first.payload) as OriginOf), at: first.startedAt };
}

export function seedOf({ run, generation }: OriginOf): string {
  return `${run}/${generation}`;
}

/** How often operators have sent a run another way, and when last; null: nobody did. */
export interface Edition {
  readonly edition: number;
  readonly turnedAt: number | null;
}

/** What lies in the records, and what the snapshot knows of. */
export function editionOf({ records, acts }: Pick<Loaded, "records" | "acts">, snapshot: Snapshot | null): Edition {
  let edition = snapshot?.edition ?? 0;
  let turnedAt = snapshot?.turnedAt ?? null;
  for (const record of acts ?? records) {
    if (!isTurn(record)) continue;
    edition += 1;
    turnedAt = record.at;
  }
  return { edition, turnedAt };
}

/** Where in its journal a program is, and at what time. */
export interface JournalPosition {
  readonly seq: number;
  readonly at: number;
}

/**
 * Goes past the acts that come next: the program has the time of the last that sent it another way. Where loops have dropped
 * records before an act, it does not come next.
 */
export function skipOperatorRecords(cursor: JournalCursor, place: JournalPosition): JournalPosition {
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
  const act = operatorActionOf(record);
  return act !== null && changesCourse(act);
}
