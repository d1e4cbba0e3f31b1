import { changesCourse, operatorActionOf } from "../model/operator-action.ts";
import type { Codec } from "../model/payload.ts";
import type { JournalRecord, Records } from "../model/record.ts";
import type { RunFacts } from "../model/run.ts";
import type { Loaded } from "../store/store.ts";
import type { JournalCursor } from "./journal-cursor.ts";
import { readPayload } from "./read-payload.ts";
import type { Snapshot } from "./snapshot.ts";

/** The seed and the start time of a program's journal. */
interface Origin {
  /** Null if the journal was not copied from another run. */
  readonly seed: string | null;
  readonly at: number;
}

/** The payload of an `origin` record: the run that the journal was copied from. */
export interface OriginOf {
  readonly run: string;
  readonly generation: number;
}

/** A copied journal is replayed with the seed and time of the run that it was copied from. */
export function originOf(codec: Codec, run: RunFacts, records: Records): Origin {
  const first = records.at(0);
  if (first === undefined || operatorActionOf(first) !== "origin") {
    return { seed: null, at: run.startedAt ?? run.createdAt };
  }
  return { seed: seedOf(readPayload(codec, first.payload, first.location) as OriginOf), at: first.startedAt };
}

export function seedOf({ run, generation }: OriginOf): string {
  return `${run}/${generation}`;
}

/** The result in the payload of a `fork` record. */
export interface ForkResult {
  /** The number of copied records. */
  readonly records: number;
  /** The seed of the fork's random values after this record. Omitted in forks of earlier versions, which keep the seed of their origin. */
  readonly seed?: string;
}

/** The seed after a `fork` record. Null if it does not change there. */
export function seedAfterFork(codec: Codec, fork: JournalRecord): string | null {
  const { result } = codec.decode(fork.payload) as { readonly result: ForkResult };
  return result.seed ?? null;
}

/** How many operator actions have redirected a run, and when the last one did. Null if none. */
interface Edition {
  readonly edition: number;
  readonly redirectedAt: number | null;
}

/** Counts the redirecting actions in the records and in the snapshot. */
export function editionOf(
  { records, operatorRecords }: Pick<Loaded, "records" | "operatorRecords">,
  snapshot: Snapshot | null,
): Edition {
  let edition = snapshot?.edition ?? 0;
  let redirectedAt = snapshot?.redirectedAt ?? null;
  for (const record of operatorRecords ?? records) {
    if (!isRedirect(record)) continue;
    edition += 1;
    redirectedAt = record.at;
  }
  return { edition, redirectedAt };
}

/** A program's position in its journal, and its time there. */
interface JournalPosition {
  readonly seq: number;
  readonly at: number;
}

/**
 * Skips the operator records that come next. A redirecting action sets the program's time. An action is not next if a loop has deleted
 * records before it.
 */
export function skipOperatorRecords(cursor: JournalCursor, position: JournalPosition): JournalPosition {
  let { seq, at } = position;
  for (let record = cursor.next; record !== null && record.kind === "operator"; record = cursor.next) {
    if (record.seq !== seq + 1) break;
    seq = record.seq;
    if (isRedirect(record)) at = record.at;
    cursor.advance();
  }
  return { seq, at };
}

function isRedirect(record: JournalRecord): boolean {
  const action = operatorActionOf(record);
  return action !== null && changesCourse(action);
}
