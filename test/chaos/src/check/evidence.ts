import type { Outcome, RecordKind, Status } from "pawl";
import type { Line } from "../entry.ts";
import type { TransactionRow } from "../load/transaction-rows.ts";

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
  /** The id from the sender. */
  readonly id: string;
}

/** The input of the checks: the reports of the processes, and the contents of the database at the end. */
export interface Evidence {
  readonly lines: readonly Line[];
  readonly runs: readonly RunDump[];
  readonly letters: readonly LetterDump[];
  /** The rows that transactions have written. */
  readonly transactionRows: readonly TransactionRow[];
  /** The result of the database's integrity check; `ok` if there are no errors. */
  readonly integrity: readonly string[];
  readonly leaseMs: number;
}

/**
 * A violation. `lost`: something acknowledged is missing. `twice`: something exists more than once.
 * `duplicate`: a body was executed again although its process had not lost the run. `wrong`: anything else.
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

/** Groups items by a key. */
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
