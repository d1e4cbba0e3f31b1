import type { JournalRecord } from "pawl";
import type { Place, ProgramNode } from "./program.ts";

/** The result of a part of a program. `seq` is the record that decided it. */
export type Evaluation =
  | { readonly kind: "value"; readonly value: unknown; readonly seq: number }
  | { readonly kind: "error"; readonly message: string; readonly source: Source; readonly seq: number }
  /** A record is missing. */
  | { readonly kind: "open" };

/** The origin of a failure, as a scope reports it. No scope catches a `rollback`. */
export type Source = "step" | "child" | "join" | "race" | "rollback";

export type Records = ReadonlyMap<string, JournalRecord>;

/** Evaluates a list of nodes. `from` is the seq of the record that was delivered last when the list started. */
export type EvaluateList = (records: Records, nodes: readonly ProgramNode[], at: Place, from: number) => Evaluation;

export const OPEN: Evaluation = { kind: "open" };

/** The decided evaluation with the oldest record. */
export function earliest(among: readonly Evaluation[]): Evaluation {
  return among.reduce((best, next) => {
    if (next.kind === "open") return best;
    return best.kind === "open" || next.seq < best.seq ? next : best;
  }, OPEN);
}

/** The seq of the newest deciding record. All evaluations must be decided. */
export function latestSeq(among: readonly Evaluation[], from: number): number {
  return Math.max(from, ...among.map((each) => (each.kind === "open" ? 0 : each.seq)));
}
