import type { JournalRecord } from "pawl";
import type { ExpectedRun } from "./expected-run.ts";
import type { Simulation } from "./simulation.ts";

type Limit = "maxRunDuration" | "maxSuspendDuration" | "maxJournalRecords" | "deadline" | "ttl";

const CODES: Readonly<Record<string, Limit>> = {
  DEADLINE_EXCEEDED: "deadline",
  RUN_EXPIRED: "ttl",
  RUN_DURATION_EXCEEDED: "maxRunDuration",
  SUSPEND_DURATION_EXCEEDED: "maxSuspendDuration",
  JOURNAL_RECORDS_EXCEEDED: "maxJournalRecords",
};

/** How far the clocks of workers may differ. */
const SKEW_MS_MAX = 4_000;

/** The limit that failed the run. Null if the run did not fail of a limit. */
export function limitOf({ row }: ExpectedRun): Limit | null {
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
  checkStart(simulation, expectedRun);
  if (limit === "deadline" || limit === "ttl") checkStartLimit(simulation, expectedRun, limit);
  if (limit === null || limit === "deadline" || limit === "ttl") return;
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

/** A run that failed of a limit of its start had that limit, and it had passed. */
function checkStartLimit(
  { monitor, storeNowMax }: Simulation,
  { row, history }: ExpectedRun,
  limit: "deadline" | "ttl",
) {
  const at = (limit === "deadline" ? row.limits?.deadlineAt : row.limits?.expireAt) ?? null;
  if (at === null) monitor.violate("limit", `run ${row.id} failed of its ${limit} but has none`);
  else if (storeNowMax < at) monitor.violate("limit", `run ${row.id} failed of its ${limit} before it passed`);
  if (limit === "ttl" && at !== null && row.startedAt !== null && row.startedAt <= at)
    monitor.violate("limit", `run ${row.id} expired, but it had started in time`);
  if (limit === "ttl" && history.length > 0) monitor.violate("limit", `run ${row.id} started and expired`);
}

/** A run that was claimed after its `ttl` executes nothing. A child's deadline is never later than that of its parent. */
function checkStart({ monitor, case: plan }: Simulation, { row, history, reopened }: ExpectedRun): void {
  const { deadlineAt = null, expireAt = null } = row.limits ?? {};
  // A run whose work was done in time may end later. The time of a run may be ahead of a clock that was set back.
  const isLate = ({ kind, startedAt }: JournalRecord): boolean =>
    kind === "step" && deadlineAt !== null && startedAt > deadlineAt + SKEW_MS_MAX;
  if (reopened === 0 && plan.faultRates.clockJump === 0 && history.some(isLate))
    monitor.violate("limit", `run ${row.id} started a step after its deadline`);
  const isExpired = expireAt !== null && row.startedAt !== null && row.startedAt > expireAt && row.generation === 0;
  if (isExpired && history.some(({ kind }) => kind !== "operator") && history.every(({ kind }) => kind !== "operator"))
    monitor.violate("limit", `run ${row.id} started after its ttl`);
  const above = monitor.expectedRuns.get(row.parent?.runId ?? "")?.row.limits?.deadlineAt ?? null;
  // The run that undoes a child has no limits.
  if (above !== null && !row.id.endsWith("//~undo") && (deadlineAt === null || deadlineAt > above))
    monitor.violate("limit", `run ${row.id} has a later deadline than its parent`);
}
