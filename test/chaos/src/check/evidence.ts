import type { Outcome, RecordKind, Status } from "pawl";
import type { Line } from "../entry.ts";
import type { BookLine } from "../load/books.ts";

export interface RecordDump {
  readonly seq: number;
  readonly location: string;
  readonly kind: RecordKind;
  readonly outcome: Outcome;
  readonly attempts: number;
  readonly startedAt: number;
  readonly at: number;
  readonly detail: string | null;
  readonly value: unknown;
  /** The message of a failure. */
  readonly error: string | null;
  readonly digest: string;
}

export interface RunDump {
  readonly id: string;
  readonly workflow: string;
  readonly status: Status;
  readonly parent: { readonly runId: string; readonly location: string } | null;
  readonly generation: number;
  readonly baseSeq: number;
  readonly input: unknown;
  readonly output: unknown;
  readonly error: string | null;
  readonly records: readonly RecordDump[];
}

export interface LetterDump {
  readonly kind: "message" | "event";
  readonly target: string;
  /** The id that the sender gave it. */
  readonly id: string;
}

/** Everything that a verdict rests on: what processes said while it happened, and what the database holds when all is over. */
export interface Evidence {
  readonly lines: readonly Line[];
  readonly runs: readonly RunDump[];
  readonly letters: readonly LetterDump[];
  /** What transactions have written. */
  readonly books: readonly BookLine[];
  /** What the database says of its own file; `ok` when it is sound. */
  readonly integrity: readonly string[];
  readonly leaseMs: number;
}

/**
 * What must not be. `lost`: something acknowledged is not there. `twice`: something is there more than once.
 * `duplicate`: a body ran again and no loss of its owner explains it. `wrong`: anything else.
 */
export interface Finding {
  readonly kind: "lost" | "twice" | "duplicate" | "wrong";
  readonly text: string;
}

/** The lines of one kind. */
export function linesOf<Kind extends Line["kind"]>(evidence: Evidence, kind: Kind): ReadonlyArray<Line<Kind>> {
  return evidence.lines.filter((line): line is Line<Kind> => line.kind === kind);
}

export function isTerminal(status: Status): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Puts items into lists by a key. */
export function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
