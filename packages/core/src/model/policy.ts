import { type Duration, parseDuration } from "./duration.ts";
import { PawlError } from "./errors.ts";

/** Limits of runs. A run gets a warning at 50 % and at 80 % of each limit, and fails at 100 %. Default: no limits. */
export interface PolicyOptions {
  /** Maximum duration of a run, from its first execution. `continueAs` starts a new period. `false` means unlimited. */
  readonly maxRunDuration?: Duration | false;
  /** Maximum time that a run may be suspended without progress. `false` means unlimited. */
  readonly maxSuspendDuration?: Duration | false;
  /** Maximum number of records in a run's journal. Records that a loop has removed do not count. `false` means unlimited. */
  readonly maxJournalRecords?: number | false;
}

export const LIMITS = ["maxRunDuration", "maxSuspendDuration", "maxJournalRecords"] as const;
export type LimitName = (typeof LIMITS)[number];

/** The limits of a run, in ms and in records. Null means unlimited. */
export type RunPolicy = Readonly<Record<LimitName, number | null>>;

export const NO_POLICY: RunPolicy = { maxRunDuration: null, maxSuspendDuration: null, maxJournalRecords: null };

/** Resolves options; an omitted option has the value in `defaults`. `owner` follows an option's name in errors: ` of workflow order`. */
export function resolvePolicy(options: PolicyOptions, defaults: RunPolicy, owner = ""): RunPolicy {
  const { maxRunDuration, maxSuspendDuration, maxJournalRecords } = options;
  return {
    maxRunDuration: duration(maxRunDuration, defaults.maxRunDuration, `maxRunDuration${owner}`),
    maxSuspendDuration: duration(maxSuspendDuration, defaults.maxSuspendDuration, `maxSuspendDuration${owner}`),
    maxJournalRecords: records(maxJournalRecords, defaults.maxJournalRecords, `maxJournalRecords${owner}`),
  };
}

function duration(value: Duration | false | undefined, by: number | null, option: string): number | null {
  if (value === undefined) return by;
  if (value === false) return null;
  const ms = parseDuration(value, option);
  if (ms > 0) return ms;
  throw new PawlError("OPTION_INVALID", `${option} must be longer than 0; got ${value}`);
}

function records(value: number | false | undefined, by: number | null, option: string): number | null {
  if (value === undefined) return by;
  if (value === false) return null;
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new PawlError("OPTION_INVALID", `${option} must be a positive integer; got ${value}`);
}
