import type { Run } from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import { hasEnded } from "./expected-run.ts";
import type { ExpectedState } from "./simulation-context.ts";

/** Retention may only remove ended runs without children and without an open run above them. */
export function checkGone(
  monitor: ExpectedState,
  applied: AppliedCall,
  before: ReadonlyMap<string, Run>,
  rows: readonly Run[],
): void {
  const there = new Map(rows.map((row) => [row.id, row]));
  for (const [id, old] of before) {
    const expectedRun = monitor.expectedRuns.get(id);
    if (there.has(id) || expectedRun === undefined || expectedRun.isGone) continue;
    expectedRun.isGone = true;
    if (applied.kind !== "prune") monitor.violate("retention", `run ${id} was removed by a ${applied.kind}`);
    if (!hasEnded(old)) monitor.violate("retention", `run ${id} was removed while ${old.status}`);
    const child = rows.find((row) => row.parent?.runId === id);
    if (child !== undefined) monitor.violate("retention", `run ${id} was removed before its child ${child.id}`);
    const above = openAbove(old, there);
    if (above !== null) monitor.violate("retention", `run ${id} was removed while ${above}, above it, is open`);
  }
}

/** An open run above it, or null. A run does not need the children of its earlier generations. */
function openAbove(run: Run, there: ReadonlyMap<string, Run>): string | null {
  for (let below = run; ; ) {
    const above = there.get(below.parent?.runId ?? "");
    if (above === undefined || below.createdAt < (above.startedAt ?? 0)) return null;
    if (!hasEnded(above)) return above.id;
    below = above;
  }
}
