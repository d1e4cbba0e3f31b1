import type { Transition } from "pawl";
import type { CallFault } from "./sim-case.ts";

/** Kinds of transaction. Each must be hit by every kind of fault. */
export const TRANSACTIONS = [
  "create",
  "append-records",
  "append-running",
  "append-suspended",
  "append-released",
  "append-continued",
  "append-end",
  "append-rollback",
  "append-trim",
  "append-transaction",
  "control-cancelled",
  "control-compensating",
  "control-paused",
  "control-resumed",
  "control-reopened",
  "control-restarted",
  "control-failed",
  "post-message",
  "post-event",
  "post-letter",
  "prune",
  "claim",
  "due",
  "held",
  "nextDueAt",
  "load",
  "heartbeat",
  "retire",
  "read",
] as const;
export type TransactionKind = (typeof TRANSACTIONS)[number];

/** Faults that are counted by transaction. Delays are not counted. */
export const MATRIX_FAULTS = [
  "crashBefore",
  "crashAfter",
  "error",
  "appliedError",
  "lateAnswer",
] as const satisfies readonly CallFault[];

export type Matrix = Record<string, number>;

export function cell(transaction: TransactionKind, fault: CallFault): string {
  return `${transaction} ${fault}`;
}

export function transactionKinds(batch: readonly Transition[]): readonly TransactionKind[] {
  return [
    ...new Set(batch.flatMap((transition) => [transactionKind(transition) ?? [], ...specialKinds(transition)].flat())),
  ];
}

/** The kinds of an append's contents besides its state. */
function specialKinds(transition: Transition): readonly TransactionKind[] {
  if (transition.kind !== "append") return [];
  const kinds: TransactionKind[] = [];
  if (transition.trim.length > 0) kinds.push("append-trim");
  if (transition.transaction !== null) kinds.push("append-transaction");
  if (transition.records.some((record) => record.kind === "rollback")) kinds.push("append-rollback");
  return kinds;
}

function transactionKind(transition: Transition): TransactionKind | null {
  switch (transition.kind) {
    case "create":
      return "create";
    case "post":
      return transition.post.kind === "event" ? "post-event" : "post-message";
    case "letter":
      return "post-letter";
    case "append":
      return appendKind(transition.state?.status ?? null);
    case "control":
      return controlKind(transition.state.status);
    default:
      return null;
  }
}

function appendKind(status: string | null): TransactionKind | null {
  switch (status) {
    case null:
      return "append-records";
    case "completed":
    case "failed":
    case "cancelled":
      return "append-end";
    case "running":
    case "suspended":
    case "released":
    case "continued":
      return `append-${status}`;
    default:
      return null;
  }
}

function controlKind(status: string): TransactionKind | null {
  switch (status) {
    case "cancelled":
    case "compensating":
    case "paused":
    case "resumed":
    case "reopened":
    case "restarted":
    case "failed":
      return `control-${status}`;
    default:
      return null;
  }
}

export function addMatrix(sum: Matrix, more: Matrix): void {
  for (const [key, count] of Object.entries(more)) sum[key] = (sum[key] ?? 0) + count;
}

export function emptyCells(matrix: Matrix): readonly string[] {
  return TRANSACTIONS.flatMap((transaction) => MATRIX_FAULTS.map((fault) => cell(transaction, fault))).filter(
    (key) => !matrix[key],
  );
}

export function printedMatrix(matrix: Matrix): string {
  const rows = TRANSACTIONS.map((transaction) =>
    [
      transaction.padEnd(22),
      ...MATRIX_FAULTS.map((fault) => String(matrix[cell(transaction, fault)] ?? 0).padStart(13)),
    ].join(""),
  );
  return [["transaction".padEnd(22), ...MATRIX_FAULTS.map((fault) => fault.padStart(13))].join(""), ...rows].join("\n");
}
