import { isTrue, type Node, type OracleState, type Part } from "./oracle-state.ts";

/** True if the completed instances complete the activity. */
export function isEnough(
  oracle: OracleState,
  { activity: { many }, ended, total }: Extract<Part, { kind: "activity" }>,
): boolean {
  if (many === null) return true;
  if (many.kind === "loop") return (many.max !== null && ended >= many.max) || !isTrue(oracle, many.continues);
  return ended === total || (many.enough !== null && ended >= many.enough);
}

/** True if the activity collects the results of its instances. Then they do not become variables of the scope. */
export function isCollected({ part }: Node): boolean {
  return (
    part.kind === "activity" &&
    part.activity.many !== null &&
    "collects" in part.activity.many &&
    part.activity.many.collects
  );
}
