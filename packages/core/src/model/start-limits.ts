import { type Duration, parseDuration } from "./duration.ts";
import { kinds, notAllowed, type OptionKind, type OptionKinds } from "./option-check.ts";
import type { RunFacts, StartLimits } from "./run.ts";

/** Limits of one run, set by its start. */
export interface LimitOptions {
  /**
   * The run fails with `DEADLINE_EXCEEDED` unless it has ended by then: a time, or a duration from the start call. A child's deadline is never
   * later than its parent's. A rewind or a retry after the deadline lifts it.
   */
  readonly deadline?: Duration | Date;
  /** A run that has not started within this time fails with `RUN_EXPIRED`, without starting. Counts from the end of its `delay`. */
  readonly ttl?: Duration;
}

/** More ms are the epoch ms of a time after 2001. */
const DEADLINE_MS_MAX = 1e12;

const DEADLINE: OptionKind<Duration | Date> = {
  ...kinds.value,
  keepsUndefined: false,
  allowed: "a duration or a Date",
  read: (value, option) => {
    if (value instanceof Date) return kinds.date.fits(value) ? value : refuse(option, "a valid Date", value);
    if (typeof value === "number" && value > DEADLINE_MS_MAX)
      return refuse(option, "a duration or a Date, not epoch ms", value);
    return kinds.period.read(value, option);
  },
};

function refuse(option: string, allowed: string, value: unknown): never {
  throw notAllowed(option, allowed, value);
}

/** The kinds of these options, for each table that has them. */
export const LIMIT_KINDS = { deadline: DEADLINE, ttl: kinds.period } as const satisfies OptionKinds<LimitOptions>;

/** When a run is created, and when it may start. */
interface StartTimes {
  readonly at: number;
  readonly startAt: number;
}

/** The start time and the limits of a new run. A run whose deadline is before the end of its delay starts then, and fails. */
export function limitsOfStart(
  { deadline, ttl }: LimitOptions,
  { at, startAt }: StartTimes,
  parent: Pick<RunFacts, "limits"> | null,
): { readonly startAt: number; readonly limits?: StartLimits } {
  const own = deadline === undefined ? null : deadlineAt(deadline, at);
  const inherited = parent?.limits?.deadlineAt ?? null;
  const earliest = own === null || inherited === null ? (own ?? inherited) : Math.min(own, inherited);
  const expireAt = ttl === undefined ? null : startAt + parseDuration(ttl, "ttl");
  if (earliest === null && expireAt === null) return { startAt };
  return { startAt: Math.max(at, Math.min(startAt, earliest ?? startAt)), limits: { deadlineAt: earliest, expireAt } };
}

function deadlineAt(deadline: Duration | Date, at: number): number {
  // The time of a Date before 1970 is negative, which no store keeps.
  return deadline instanceof Date ? Math.max(0, deadline.getTime()) : at + parseDuration(deadline, "deadline");
}
