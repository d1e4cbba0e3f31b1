import type { JournalRecord, Run } from "pawl";
import { type NamedNode, nodeName } from "./program.ts";
import { isOver, type Shadow } from "./shadow.ts";
import type { Findings } from "./stage.ts";

const ROLLBACK = "/~rollback";

/** The step that a rollback undoes; null: the location is no rollback's. */
export function undoneStep(location: string): string | null {
  return location.endsWith(ROLLBACK) ? location.slice(0, -ROLLBACK.length) : null;
}

/** What a run has done that is to be undone when it fails or is cancelled, the oldest first. */
export function undoables(
  { history: all }: Shadow,
  nodes: ReadonlyMap<string, NamedNode>,
  upTo = Number.POSITIVE_INFINITY,
): readonly JournalRecord[] {
  const history = upTo === Number.POSITIVE_INFINITY ? all : all.filter(({ seq }) => seq <= upTo);
  const from = history.findLast((record) => record.kind === "checkpoint")?.seq ?? 0;
  const undone = new Set(history.flatMap(({ kind, location }) => (kind === "rollback" ? [undoneStep(location)] : [])));
  return history.filter((record) => {
    if (record.kind !== "step" || record.outcome !== "ok" || record.seq < from) return false;
    const node = nodes.get(nodeName(record.location));
    return node?.kind === "step" && node.rollback !== null && !undone.has(record.location);
  });
}

/** I11: before the record is noted. What is undone is the newest that is left, once; a program that is stopped does nothing more. */
export function checkUndo(
  monitor: Findings,
  shadow: Shadow,
  record: JournalRecord,
  nodes: ReadonlyMap<string, NamedNode>,
): void {
  const isStopped = shadow.history.some((before) => before.kind === "compensate");
  const { id } = shadow;
  const step = undoneStep(record.location);
  if (record.kind === "compensate" && isStopped) monitor.violate("I11", `run ${id} was stopped twice`);
  if (record.kind === "operator" || record.kind === "compensate") return;
  if (step === null) {
    if (isStopped) monitor.violate("I11", `run ${id} was stopped, and ${record.location} was recorded`);
    return;
  }
  if (!isStopped) monitor.violate("I11", `run ${id} undoes ${step}, and it was not stopped`);
  if (record.kind !== "rollback") return;
  const newest = undoables(shadow, nodes).at(-1);
  if (newest?.location !== step)
    monitor.violate("I11", `run ${id} has undone ${step}; next was ${newest?.location ?? "nothing"}`);
}

/** I11: when a run has ended. One that failed or was cancelled has undone all; what it could not undo is reported. */
export function checkUndone(monitor: Findings, shadow: Shadow, row: Run, nodes: ReadonlyMap<string, NamedNode>): void {
  const isStopped = shadow.history.some((record) => record.kind === "compensate");
  if (!isOver(row) || (row.outcome ?? "").includes('"POISONED"')) return;
  if (row.status === "completed") {
    if (isStopped) monitor.violate("I11", `run ${row.id} completed after it was stopped`);
    return;
  }
  const left = undoables(shadow, nodes).map((record) => record.location);
  if (left.length > 0) monitor.violate("I11", `run ${row.id} ${row.status} and has not undone ${left.join(", ")}`);
  const failed = shadow.history.flatMap(({ kind, outcome, location }) =>
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
