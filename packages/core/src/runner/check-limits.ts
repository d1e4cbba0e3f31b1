import type { PawlError } from "../model/errors.ts";
import { LIMITS, type LimitName } from "../model/policy.ts";
import type { JournalRecord } from "../model/record.ts";
import type { Warning } from "./limits.ts";
import type { SessionState } from "./session-state.ts";

/**
 * Whether the run has reached a limit: then the error says which. Warnings that are due are recorded. `idle`: nothing is left
 * to hand to the program, so that a run without a body at work rests. `over`: it has no limits any more.
 */
export function checkLimits(
  session: SessionState,
  now: () => number,
  phase: "working" | "idle" | "over",
): PawlError | null {
  const { open, steps, pending, progress, limits } = session;
  if (phase === "over") open.limitAt = null;
  if (phase === "over" || limits === null) return null;
  const rests = phase === "idle" && !steps.busy && open.size > 0;
  const restingSince = rests ? progress.at(pending).since : null;
  const { error, warnings, nextAt } = limits.look({ now: now(), restingSince, records: pending.count });
  open.limitAt = error === null ? nextAt : null;
  if (error !== null) return error;
  for (const warning of warnings) {
    limits.given(warning);
    progress.keptOver(pending, () => pending.record(warningRecord(warning, pending.at)));
    pending.requestCommit();
  }
  return null;
}

/** The warning that a record is; null: it is none. */
export function warningOf({ kind, location, detail }: JournalRecord): Warning | null {
  if (kind !== "warning") return null;
  const limit = LIMITS.find((name) => locationOf(name) === location);
  return limit === undefined ? null : { limit, percent: Number(detail) };
}

/** No name begins so: it meets no command of a program. */
function locationOf(limit: LimitName): string {
  return `~${limit}`;
}

function warningRecord({ limit, percent }: Warning, at: number): JournalRecord {
  return {
    seq: 0,
    location: locationOf(limit),
    kind: "warning",
    outcome: "ok",
    payload: null,
    attempts: 0,
    startedAt: at,
    at,
    detail: String(percent),
  };
}
