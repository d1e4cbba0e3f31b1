import type { PawlError } from "../model/errors.ts";
import { LIMITS, type LimitName } from "../model/policy.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Warning } from "./limits.ts";
import type { SessionState } from "./session-state.ts";

/**
 * Returns an error if the run has reached a limit, and records the warnings that are due.
 * - `idle`: no completion is left to deliver. A run without a running step is then suspended.
 * - `ended`: no limit applies any more.
 */
export function checkLimits(
  state: SessionState,
  now: () => number,
  phase: "working" | "idle" | "ended",
): PawlError | null {
  const { open, steps, pending, progress, limits } = state;
  if (phase === "ended") open.limitAt = null;
  if (phase === "ended" || limits === null) return null;
  const isSuspended = phase === "idle" && !steps.busy && open.size > 0;
  const restingSince = isSuspended ? progress.at(pending).since : null;
  const { error, warnings, nextAt } = limits.check({
    now: now(),
    suspendedSince: restingSince,
    records: pending.count,
  });
  open.limitAt = error === null ? nextAt : null;
  if (error !== null) return error;
  for (const warning of warnings) {
    limits.markGiven(warning);
    progress.withoutProgress(pending, () => pending.record(warningRecord(warning, pending.at)));
    pending.requestCommit();
  }
  return null;
}

/** Returns the warning that a record stores. Null if it stores none. */
export function warningOf({ kind, location, detail }: JournalRecord): Warning | null {
  if (kind !== "warning") return null;
  const limit = LIMITS.find((name) => warningLocation(name) === location);
  return limit === undefined ? null : { limit, percent: Number(detail) };
}

/** A name cannot start with `~`, so the location matches no command. */
function warningLocation(limit: LimitName): string {
  return `~${limit}`;
}

function warningRecord({ limit, percent }: Warning, at: number): JournalRecord {
  return {
    seq: 0,
    location: warningLocation(limit),
    kind: "warning",
    outcome: "ok",
    payload: null,
    attempts: 0,
    startedAt: at,
    at,
    detail: String(percent),
  };
}
