import { type Duration, parseDuration } from "./duration.ts";
import { PawlError } from "./errors.ts";

/** Limits of runs. A run is warned about at 50 % and at 80 % of each, and fails at 100 %. Default: none. */
export interface PolicyOptions {
  /** How long a run may take, from when it is first worked on; a continuation begins anew. `false`: as long as it likes. */
  readonly maxRunDuration?: Duration | false;
  /** How long a run may be suspended without coming any further. `false`: as long as it likes. */
  readonly maxSuspendDuration?: Duration | false;
  /** How many records a run's journal may hold; those that a loop has dropped don't count. `false`: as many as it likes. */
  readonly maxJournalRecords?: number | false;
}

export const LIMITS = ["maxRunDuration", "maxSuspendDuration", "maxJournalRecords"] as const;
export type LimitName = (typeof LIMITS)[number];

/** The limits of a run, in ms and in records; null: none. */
export type RunPolicy = Readonly<Record<LimitName, number | null>>;

export const NO_POLICY: RunPolicy = { maxRunDuration: null, maxSuspendDuration: null, maxJournalRecords: null };

/** What is not said is as in `defaults`. `whose` stands before an option's name in errors. */
export function resolvePolicy(options: PolicyOptions, defaults: RunPolicy, whose = ""): RunPolicy {
  const { maxRunDuration, maxSuspendDuration, maxJournalRecords } = options;
  return {
    maxRunDuration: duration(maxRunDuration, defaults.maxRunDuration, `${whose}maxRunDuration`),
    maxSuspendDuration: duration(maxSuspendDuration, defaults.maxSuspendDuration, `${whose}maxSuspendDuration`),
    maxJournalRecords: records(maxJournalRecords, defaults.maxJournalRecords, `${whose}maxJournalRecords`),
  };
}

function duration(value: Duration | false | undefined, by: number | null, option: string): number | null {
  if (value === undefined) return by;
  if (value === false) return null;
  const ms = parseDuration(value, option);
  if (ms > 0) return ms;
  throw new PawlError("OPTION_INVALID", `${option} is ${value}; it has to be longer than 0`);
}

function records(value: number | false | undefined, by: number | null, option: string): number | null {
  if (value === undefined) return by;
  if (value === false) return null;
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new PawlError("OPTION_INVALID", `${option} is ${value}; it has to be a whole number above 0`);
}
