import type { JournalRecord, Run } from "pawl";
import { type ExpectedRun, hasEnded } from "./expected-run.ts";
import { type NamedNode, nodeName } from "./program.ts";
import type { ExpectedState } from "./simulation-context.ts";

/** What a rollback undoes, by where its record lies; null: the location is no rollback's. */
export function undoneStep(location: string): string | null {
  return /^(.*)\/~rollback(\/~start)?$/.exec(location)?.[1] ?? null;
}

/** Something that is to be undone: a step, or what a child did. */
export interface Undoable {
  readonly location: string;
  readonly seq: number;
}

/** What the monitors know of all runs, and of the nodes of each. */
export interface Known {
  readonly expectedRuns: ReadonlyMap<string, ExpectedRun>;
  nodesOf(expectedRun: ExpectedRun): ReadonlyMap<string, NamedNode>;
}

/** What a run has done that is to be undone when it fails or is cancelled, the oldest first. */
export function undoables(
  known: Known,
  expectedRun: ExpectedRun,
  upTo = Number.POSITIVE_INFINITY,
): readonly Undoable[] {
  const history =
    upTo === Number.POSITIVE_INFINITY ? expectedRun.history : expectedRun.history.filter(({ seq }) => seq <= upTo);
  const from = history.findLast((record) => record.kind === "checkpoint")?.seq ?? 0;
  const undone = new Set(
    history.flatMap(({ kind, location, payload }) =>
      kind === "rollback" || (kind === "spawn" && (payload === null || payload === "null"))
        ? [undoneStep(location)]
        : [],
    ),
  );
  return history.flatMap((record) => {
    if (record.outcome !== "ok" || record.seq < from) return [];
    const location = undoablePlace(known, expectedRun, record);
    return location === null || undone.has(location) ? [] : [{ location, seq: record.seq }];
  });
}

/** Where that lies which is undone for the record; null: nothing is. */
function undoablePlace(
  known: Known,
  expectedRun: ExpectedRun,
  { kind, location, detail }: JournalRecord,
): string | null {
  const node = known.nodesOf(expectedRun).get(nodeName(location));
  if (kind === "step") return node?.kind === "step" && node.rollback !== null ? location : null;
  // Whether the child of a select has something to undo is seen when it comes to that.
  if (kind === "select") return detail === "c" ? `${location}.c` : null;
  if (kind !== "child") return null;
  const place = location.replace(/\/result$/, "");
  return hasUndoable(known, expectedRun, place) ? place : null;
}

/** Whether the child that was started there has something to undo. */
function hasUndoable(known: Known, expectedRun: ExpectedRun, place: string): boolean {
  const spawn = expectedRun.history.findLast((record) => record.kind === "spawn" && record.location === place);
  const child = known.expectedRuns.get(spawn?.detail ?? "");
  if (child === undefined) return false;
  return undoables(known, child).some(
    ({ location }) => !location.endsWith(".c") || hasUndoable(known, child, location),
  );
}

/** I11: before the record is noted. What is undone is the newest that is left, once; a program that is stopped does nothing more. */
export function checkUndo(monitor: ExpectedState, known: Known, expectedRun: ExpectedRun, record: JournalRecord): void {
  const isStopped = expectedRun.history.some((before) => before.kind === "compensate");
  const { id } = expectedRun;
  const step = undoneStep(record.location);
  if (record.kind === "compensate" && isStopped) monitor.violate("I11", `run ${id} was stopped twice`);
  if (record.kind === "operator" || record.kind === "compensate" || record.kind === "warning") return;
  if (step === null) {
    if (isStopped) monitor.violate("I11", `run ${id} was stopped, and ${record.location} was recorded`);
    return;
  }
  if (!isStopped) monitor.violate("I11", `run ${id} undoes ${step}, and it was not stopped`);
  if (record.kind === "retry") return;
  const newest = undoables(known, expectedRun).at(-1);
  if (newest?.location !== step)
    monitor.violate("I11", `run ${id} has undone ${step}; next was ${newest?.location ?? "nothing"}`);
}

/** I11: when a run has ended. One that failed or was cancelled has undone all; what it could not undo is reported. */
export function checkUndone(monitor: ExpectedState, known: Known, expectedRun: ExpectedRun): void {
  const { row } = expectedRun;
  const isStopped = expectedRun.history.some((record) => record.kind === "compensate");
  if (!hasEnded(row) || (row.outcome ?? "").includes('"POISONED"')) return;
  if (row.status === "completed") {
    if (isStopped) monitor.violate("I11", `run ${row.id} completed after it was stopped`);
    return;
  }
  // In a run that was not stopped nobody has looked what the child of a select did.
  const left = undoables(known, expectedRun).flatMap(({ location }) =>
    isStopped || !location.endsWith(".c") || hasUndoable(known, expectedRun, location) ? [location] : [],
  );
  if (left.length > 0) monitor.violate("I11", `run ${row.id} ${row.status} and has not undone ${left.join(", ")}`);
  const failed = expectedRun.history.flatMap(({ kind, outcome, location }) =>
    kind === "rollback" && outcome === "failed" ? [undoneStep(location)] : [],
  );
  const told = reported(row);
  if (failed.join() !== told.join())
    monitor.violate("I11", `run ${row.id} could not undo [${failed.join()}] and reports [${told.join()}]`);
}

function reported(row: Run): readonly string[] {
  const outcome = JSON.parse(row.outcome ?? "null") as {
    readonly details?: { readonly rollbackFailures?: ReadonlyArray<{ readonly step: string }> };
  } | null;
  return (outcome?.details?.rollbackFailures ?? []).map(({ step }) => step);
}
