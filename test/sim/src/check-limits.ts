import type { JournalRecord } from "pawl";
import type { ExpectedRun } from "./expected-run.ts";
import type { Simulation } from "./simulation.ts";

const CODES: Readonly<Record<string, "maxRunDuration" | "maxSuspendDuration" | "maxJournalRecords">> = {
  RUN_DURATION_EXCEEDED: "maxRunDuration",
  SUSPEND_DURATION_EXCEEDED: "maxSuspendDuration",
  JOURNAL_RECORDS_EXCEEDED: "maxJournalRecords",
};

/** The limit that failed the run. Null if the run did not fail of a limit. */
export function limitOf({ row }: ExpectedRun): "maxRunDuration" | "maxSuspendDuration" | "maxJournalRecords" | null {
  if (row.status !== "failed") return null;
  const outcome = JSON.parse(row.outcome ?? "null") as { readonly code?: string } | null;
  return CODES[outcome?.code ?? ""] ?? null;
}

/** A run that failed of a limit had that limit and had reached it. Each warning is recorded once. */
export function checkLimits(simulation: Simulation, expectedRun: ExpectedRun): void {
  const { row, history } = expectedRun;
  const { settings } = simulation.case;
  const limit = limitOf(expectedRun);
  const seen = new Set<string>();
  for (const { kind, location, detail } of history as readonly JournalRecord[]) {
    if (kind !== "warning") continue;
    if (seen.has(`${location} ${detail}`))
      simulation.monitor.violate("limit", `run ${row.id}: the warning ${location} was recorded twice`);
    seen.add(`${location} ${detail}`);
  }
  if (limit === null) return;
  const max = settings[limit];
  if (max === null) simulation.monitor.violate("limit", `run ${row.id} failed of ${limit} but has no such limit`);
  const records = history.filter(
    ({ kind }) => kind !== "warning" && kind !== "rollback" && kind !== "compensate",
  ).length;
  if (limit === "maxJournalRecords" && max !== null && records <= max)
    simulation.monitor.violate("limit", `run ${row.id} failed of ${limit} with ${records} records of ${max}`);
  const action = history.findLast(
    ({ kind, detail }) => kind === "operator" && detail !== "origin" && detail !== "migrate",
  );
  const tookMs = simulation.storeNowMax - (action?.at ?? row.startedAt ?? row.createdAt);
  if (limit !== "maxJournalRecords" && max !== null && tookMs < max)
    simulation.monitor.violate("limit", `run ${row.id} failed of ${limit} after ${tookMs} ms of ${max}`);
}
