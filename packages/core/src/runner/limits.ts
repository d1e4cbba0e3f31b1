import { durationText } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { LIMITS, type LimitName, type RunPolicy } from "../model/policy.ts";
import type { JournalRecord, Records } from "../model/record.ts";
import type { Run, Wait } from "../model/run.ts";
import type { PendingAppend } from "./pending-append.ts";

/** Shares of a limit at which a warning is given. */
const WARN_PERCENTS = [50, 80] as const;

/** The percentages of the warnings given, by limit. */
export type Warned = Readonly<Partial<Record<LimitName, readonly number[]>>>;

export interface Warning {
  readonly limit: LimitName;
  readonly percent: number;
}

/** A run's use of its limits. */
export interface Usage {
  readonly now: number;
  /** Null if the run is not suspended. */
  readonly suspendedSince: number | null;
  readonly records: number;
}

export interface LimitCheck {
  /** Set if a limit is reached. */
  readonly error: PawlError | null;
  readonly warnings: readonly Warning[];
  /** The time of the next check: a warning, or the limit. */
  readonly nextAt: number | null;
}

const NOTHING: LimitCheck = { error: null, warnings: [], nextAt: null };

/** The facts that limits count from. */
interface LimitedRun extends Pick<Run, "id" | "startedAt" | "createdAt"> {
  /** Null or omitted if the run has none. */
  readonly deadlineAt?: number | null;
}

/** The deadline of a run. An operator action that redirects the run after its deadline lifts it. */
export function deadlineOf({ limits }: Pick<Run, "limits">, redirectedAt: number | null): number | null {
  const at = limits?.deadlineAt ?? null;
  return at === null || (redirectedAt !== null && redirectedAt >= at) ? null : at;
}

/** The failure of a run whose start sets a limit that has passed. Null if the run may start. */
export function unstartable(run: Pick<Run, "id" | "limits" | "startedAt">, now: number): PawlError | null {
  const { deadlineAt = null, expireAt = null } = run.limits ?? {};
  // A claim sets the time of the start. So a run that was claimed in time has started, also if its first worker crashed.
  if (expireAt !== null && (run.startedAt ?? now) > expireAt)
    return new PawlError("RUN_EXPIRED", `run ${run.id} did not start within its ttl; none of its code was executed`);
  return deadlineAt !== null && now >= deadlineAt ? pastDeadline(run.id) : null;
}

function pastDeadline(runId: string): PawlError {
  return new PawlError("DEADLINE_EXCEEDED", `run ${runId} did not end by its deadline`);
}

/**
 * Checks a run against its limits.
 *
 * 1. A limit counts from stored facts: the run's start, the start of its suspension, its record count. So every worker gets the same result.
 * 2. A warning is given once per generation: it is a record, which replay skips. A warning at 80 % replaces the one at 50 %.
 */
export class Limits {
  readonly #policy: RunPolicy;
  readonly #run: LimitedRun;
  readonly #warned: Partial<Record<LimitName, readonly number[]>>;

  constructor(policy: RunPolicy, run: LimitedRun, warned: Warned) {
    this.#policy = policy;
    this.#run = run;
    this.#warned = { ...warned };
  }

  get warned(): Warned {
    return { ...this.#warned };
  }

  /** Notes a warning that is or will be in the journal. Replay may repeat one that a snapshot already has. */
  markGiven({ limit, percent }: Warning): void {
    const given = this.#warned[limit] ?? [];
    if (!given.includes(percent)) this.#warned[limit] = [...given, percent];
  }

  check({ now, suspendedSince, records }: Usage): LimitCheck {
    const { startedAt, createdAt } = this.#run;
    // Warning records do not count.
    const warnings = Object.values(this.#warned).reduce((sum, { length }) => sum + length, 0);
    const checks = [
      this.#checkTime("maxRunDuration", startedAt ?? createdAt, now),
      this.#checkTime("maxSuspendDuration", suspendedSince, now),
      this.#checkRecords(records - warnings),
      this.#checkDeadline(now),
    ];
    const times = checks.flatMap(({ nextAt }) => nextAt ?? []);
    return {
      error: checks.find(({ error }) => error !== null)?.error ?? null,
      warnings: checks.flatMap(({ warnings }) => warnings),
      nextAt: times.length === 0 ? null : Math.min(...times),
    };
  }

  #checkTime(limit: "maxRunDuration" | "maxSuspendDuration", from: number | null, now: number): LimitCheck {
    const max = this.#policy[limit];
    if (max === null || from === null) return NOTHING;
    if (now >= from + max) return { ...NOTHING, error: exceeded(this.#run.id, limit, max) };
    const at = (percent: number): number => from + Math.ceil((max * percent) / 100);
    const percent = this.#dueWarning(limit, (each) => now >= at(each));
    const given = percent ?? this.#highestGiven(limit);
    const next = WARN_PERCENTS.find((each) => each > given && at(each) > now) ?? 100;
    return { error: null, warnings: percent === null ? [] : [{ limit, percent }], nextAt: at(next) };
  }

  #checkDeadline(now: number): LimitCheck {
    const { id, deadlineAt = null } = this.#run;
    if (deadlineAt === null) return NOTHING;
    return now >= deadlineAt ? { ...NOTHING, error: pastDeadline(id) } : { ...NOTHING, nextAt: deadlineAt };
  }

  #checkRecords(records: number): LimitCheck {
    const limit = "maxJournalRecords";
    const max = this.#policy[limit];
    if (max === null) return NOTHING;
    if (records > max) return { ...NOTHING, error: exceeded(this.#run.id, limit, max) };
    const percent = this.#dueWarning(limit, (each) => records * 100 >= max * each);
    return percent === null ? NOTHING : { ...NOTHING, warnings: [{ limit, percent }] };
  }

  #highestGiven(limit: LimitName): number {
    return Math.max(0, ...(this.#warned[limit] ?? []));
  }

  /** Returns the highest warning that is due and was not given. */
  #dueWarning(limit: LimitName, isDue: (percent: number) => boolean): number | null {
    const given = this.#highestGiven(limit);
    return WARN_PERCENTS.filter((percent) => percent > given && isDue(percent)).at(-1) ?? null;
  }
}

function exceeded(runId: string, limit: LimitName, max: number): PawlError {
  switch (limit) {
    case "maxRunDuration":
      return new PawlError("RUN_DURATION_EXCEEDED", `run ${runId} exceeded its maxRunDuration of ${durationText(max)}`);
    case "maxSuspendDuration":
      return new PawlError(
        "SUSPEND_DURATION_EXCEEDED",
        `run ${runId} was suspended for longer than its maxSuspendDuration of ${durationText(max)}`,
      );
    case "maxJournalRecords":
      return new PawlError(
        "JOURNAL_RECORDS_EXCEEDED",
        `the journal of run ${runId} exceeded its maxJournalRecords of ${max}`,
      );
  }
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

export function warningRecord({ limit, percent }: Warning, at: number): JournalRecord {
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

/** The last progress of a run: its time and its record. */
export interface LastProgress {
  readonly since: number;
  readonly seq: number;
}

/**
 * Knows when a run last made progress. A run that is loaded again keeps the start of its suspension. A run that was paused or
 * released while working starts anew.
 */
export class ProgressClock {
  #since: number | null;
  #seq: number;

  constructor(wait: Wait | null, seq: number) {
    this.#since = wait?.since ?? null;
    this.#seq = seq;
  }

  at(pending: PendingAppend): LastProgress {
    if (this.#since === null || this.#seq !== pending.seq) this.#since = pending.at;
    this.#seq = pending.seq;
    return { since: this.#since, seq: this.#seq };
  }

  /** Records something that is not progress, such as a warning. */
  withoutProgress(pending: PendingAppend, record: () => void): void {
    const isUpToDate = this.#seq === pending.seq;
    record();
    if (isUpToDate) this.#seq = pending.seq;
  }
}

/** Returns the run's stored wait. Null if the journal has progressed since the row was written. */
export function waitSinceProgress({ wait }: Pick<Run, "wait">, records: Records): Wait | null {
  const seq = wait?.seq;
  if (wait === null || seq === undefined) return wait;
  for (let index = records.length - 1; index >= 0; index -= 1) {
    const record = records.at(index);
    if (record === undefined || record.seq <= seq) return wait;
    if (record.kind !== "warning" && record.kind !== "operator") return null;
  }
  return wait;
}
