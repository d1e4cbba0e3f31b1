import type { JournalRecord, Run } from "pawl";
import { type ExpectedRun, hasEnded } from "./expected-run.ts";
import { type NamedNode, nodeName } from "./program.ts";
import type { ExpectedState } from "./simulation-context.ts";

/** The location of the step that the rollback at `location` undoes. Null if the location is not of a rollback. */
export function undoneStep(location: string): string | null {
  return /^(.*)\/~rollback(\/~start)?$/.exec(location)?.[1] ?? null;
}

/** The location of the child whose end the compensation at `location` checks. Null if the location is not of such a check. */
function closedChild(location: string): string | null {
  return /^(.*)\/~rollback\/~(close|end)$/.exec(location)?.[1] ?? null;
}

/** A completed step, or a child, that must be rolled back. */
export interface Undoable {
  readonly location: string;
  readonly seq: number;
}

/** The expected state of all runs, and the nodes of each run. */
export interface Known {
  readonly expectedRuns: ReadonlyMap<string, ExpectedRun>;
  nodesOf(expectedRun: ExpectedRun): ReadonlyMap<string, NamedNode>;
}

/** The steps and children that a run must roll back when it fails or is cancelled, oldest first. */
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
  const completed = history.flatMap((record) => {
    if (record.outcome !== "ok" || record.seq < from) return [];
    const location = undoablePlace(known, expectedRun, record);
    return location === null || undone.has(location) ? [] : [{ location, seq: record.seq }];
  });
  // A child that is still open when the program is stopped ends after that.
  const stoppedAt = history.find(({ kind }) => kind === "compensate")?.seq ?? Number.POSITIVE_INFINITY;
  const endedBefore = completed.filter(({ seq }) => seq < stoppedAt);
  const notEnded = unfinished(history).filter(({ location }) => !undone.has(location));
  return [...endedBefore, ...notEnded, ...completed.slice(endedBefore.length)];
}

/** Steps whose start is recorded and whose end is not. */
function unfinished(history: readonly JournalRecord[]): readonly Undoable[] {
  const ended = new Set(history.flatMap(({ kind, location }) => (kind === "step" ? [location] : [])));
  return history.filter(({ kind, location }) => kind === "started" && !ended.has(location));
}

/** The location that is rolled back for the record. Null if nothing is. */
function undoablePlace(
  known: Known,
  expectedRun: ExpectedRun,
  { kind, location, detail, payload }: JournalRecord,
): string | null {
  const node = known.nodesOf(expectedRun).get(nodeName(location));
  if (kind === "step") return node?.kind === "step" && node.rollback !== null ? location : null;
  // Whether the child of a select must be rolled back is only known during compensation.
  if (kind === "select") return detail === "c" ? `${location}.c` : null;
  if (kind === "cancel") return payload === '"undoable"' ? closedChild(location) : null;
  if (kind !== "child") return null;
  const place = closedChild(location) ?? location.replace(/\/result$/, "");
  return detail === UNDOABLE || hasUndoable(known, expectedRun, place) ? place : null;
}

/** The detail of the record of a step or child that may have to be rolled back. */
const UNDOABLE = "rollback";

/** True if the child that was started there has something to roll back. */
function hasUndoable(known: Known, expectedRun: ExpectedRun, place: string): boolean {
  const spawn = expectedRun.history.findLast((record) => record.kind === "spawn" && record.location === place);
  const child = known.expectedRuns.get(spawn?.detail ?? "");
  if (child === undefined) return false;
  return undoables(known, child).some(
    ({ location }) => !location.endsWith(".c") || hasUndoable(known, child, location),
  );
}

/** I11, before the record is added: a rollback undoes the newest remaining step, once. A stopped program does nothing else. */
export function checkUndo(monitor: ExpectedState, known: Known, expectedRun: ExpectedRun, record: JournalRecord): void {
  const isStopped = expectedRun.history.some((before) => before.kind === "compensate");
  const { id } = expectedRun;
  const step = undoneStep(record.location);
  if (record.kind === "compensate" && isStopped) monitor.violate("I11", `run ${id} was stopped twice`);
  if (record.kind === "operator" || record.kind === "compensate" || record.kind === "warning") return;
  if (step === null) {
    if (isStopped && closedChild(record.location) === null)
      monitor.violate("I11", `run ${id} was stopped, but ${record.location} was recorded`);
    return;
  }
  if (!isStopped) monitor.violate("I11", `run ${id} rolls back ${step}, but it was not stopped`);
  if (record.kind === "retry") return;
  const newest = undoables(known, expectedRun).at(-1);
  if (newest?.location !== step)
    monitor.violate("I11", `run ${id} rolled back ${step}; the newest remaining step is ${newest?.location ?? "none"}`);
}

/** I11, when a run has ended: a failed or cancelled run has rolled back all steps, and reports every failed rollback. */
export function checkUndone(monitor: ExpectedState, known: Known, expectedRun: ExpectedRun): void {
  const { row } = expectedRun;
  const isStopped = expectedRun.history.some((record) => record.kind === "compensate");
  if (!hasEnded(row) || isLeftUndone(row)) return;
  if (row.status === "completed") {
    if (isStopped) monitor.violate("I11", `run ${row.id} completed after it was stopped`);
    return;
  }
  // In a run that was not stopped, the child of a select has not been checked.
  const left = undoables(known, expectedRun).flatMap(({ location }) =>
    isStopped || !location.endsWith(".c") || hasUndoable(known, expectedRun, location) ? [location] : [],
  );
  if (left.length > 0) monitor.violate("I11", `run ${row.id} ${row.status} without rolling back ${left.join(", ")}`);
  const failed = expectedRun.history.flatMap(({ kind, outcome, location }) =>
    kind === "rollback" && outcome === "failed" ? [undoneStep(location)] : [],
  );
  const reportedFailures = reported(row);
  if (failed.join() !== reportedFailures.join())
    monitor.violate(
      "I11",
      `run ${row.id} has failed rollbacks [${failed.join()}] but reports [${reportedFailures.join()}]`,
    );
}

/** Whether the rollbacks of a run crashed its workers: they are the only ones that are not executed. */
function isLeftUndone({ outcome }: Run): boolean {
  const failure = JSON.parse(outcome ?? "null") as { readonly code?: string; readonly message?: string } | null;
  return failure?.code === "POISONED" && failure.message?.includes("while it was compensating") === true;
}

/**
 * I11, when all runs have ended: the children that a failed or cancelled run started and did not abandon are rolled back. This includes
 * a child that ended before the run received its end, and one that completed although it was cancelled.
 */
export function checkChildrenUndone(monitor: ExpectedState, known: Known, expectedRun: ExpectedRun): void {
  const { row, history, reopened } = expectedRun;
  const isUndoRun = row.id.endsWith("//~undo");
  if (row.status === "completed" || reopened > (isUndoRun ? 1 : 0) || isLeftUndone(row)) return;
  const checkpoint = history.findLast((record) => record.kind === "checkpoint")?.seq ?? 0;
  for (const { kind, location, detail } of history) {
    const child = kind === "spawn" && detail !== null ? known.expectedRuns.get(detail) : undefined;
    if (child === undefined || child.row.status !== "completed" || child.reopened > 0) continue;
    const isKept = history.some((record) => record.seq < checkpoint && receivedChild(record) === location);
    if (child.row.parent?.onClose !== "cancel" || isKept || !hasUndoable(known, expectedRun, location)) continue;
    if (!known.expectedRuns.has(`${child.id}//~undo`))
      monitor.violate(
        "I11",
        `run ${row.id} ${row.status}, but its child ${child.id} completed and was not rolled back`,
      );
  }
}

/** The starts of children that were not abandoned and whose end was not received. */
export function attachedStarts(known: Known, { history }: ExpectedRun, upTo: number): readonly JournalRecord[] {
  const received = new Set(history.filter(({ seq }) => seq <= upTo).map(receivedChild));
  return history.filter(({ kind, seq, location, detail }) => {
    if (kind !== "spawn" || detail === null || seq > upTo || received.has(location)) return false;
    return known.expectedRuns.get(detail)?.row.parent?.onClose !== "abandon";
  });
}

/** The location of the child whose end a record received. Null if it received none. */
function receivedChild({ kind, location, detail }: JournalRecord): string | null {
  if (kind === "child") return location.replace(/\/result$/, "");
  return kind === "select" && detail === "c" ? `${location}.c` : null;
}

function reported(row: Run): readonly string[] {
  const outcome = JSON.parse(row.outcome ?? "null") as {
    readonly details?: { readonly rollbackFailures?: ReadonlyArray<{ readonly step: string }> };
  } | null;
  return (outcome?.details?.rollbackFailures ?? []).map(({ step }) => step);
}
