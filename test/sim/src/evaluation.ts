import type { JournalRecord } from "pawl";
import type { Place, ProgramNode } from "./program.ts";

/** What part of a program comes to; `seq` is the record that decided it. */
export type Evaluation =
  | { readonly kind: "value"; readonly value: unknown; readonly seq: number }
  | { readonly kind: "error"; readonly message: string; readonly source: Source; readonly seq: number }
  /** Something it waits for has no record. */
  | { readonly kind: "open" };

/** What a failure came from, as a scope tells it; `rollback` is one that no scope takes. */
export type Source = "step" | "child" | "join" | "race" | "rollback";

export type Records = ReadonlyMap<string, JournalRecord>;

/** What a list comes to, from the record on that had been delivered when it began. */
export type EvaluateList = (records: Records, nodes: readonly ProgramNode[], at: Place, from: number) => Evaluation;

export const OPEN: Evaluation = { kind: "open" };

/** Of those that are decided, the one whose record is oldest. */
export function earliest(among: readonly Evaluation[]): Evaluation {
  return among.reduce((best, next) => {
    if (next.kind === "open") return best;
    return best.kind === "open" || next.seq < best.seq ? next : best;
  }, OPEN);
}

/** The newest of the records that decided these, all of which are decided. */
export function latestSeq(among: readonly Evaluation[], from: number): number {
  return Math.max(from, ...among.map((each) => (each.kind === "open" ? 0 : each.seq)));
}
