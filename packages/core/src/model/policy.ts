import type { Duration } from "./duration.ts";
import { kinds, type OptionKinds, readArgument } from "./option-check.ts";

/** Limits of runs. A run gets a warning at 50 % and at 80 % of each limit, and fails at 100 %. Default: no limits. */
export interface PolicyOptions {
  /** Maximum duration of a run, from its first execution. `continueAs` starts a new period. `false` means unlimited. */
  readonly maxRunDuration?: Duration | false;
  /** Maximum time that a run may be suspended without progress. `false` means unlimited. */
  readonly maxSuspendDuration?: Duration | false;
  /** Maximum number of records in a run's journal. Records that a loop has removed do not count. `false` means unlimited. */
  readonly maxJournalRecords?: number | false;
}

/** What happens when workflow code throws a programming error. */
export interface CodeOptions {
  /**
   * Whether a `TypeError`, `ReferenceError`, `RangeError`, `SyntaxError` or `AssertionError` that workflow code throws outside a step body
   * pauses the run with `CODE_ERROR`, or makes it fail. Default `pause`.
   */
  readonly codeErrors?: "pause" | "fail";
  /** Names the state of the code, such as a commit of its repository. A run that another revision paused with `CODE_ERROR` resumes by itself. */
  readonly revision?: string;
}

/** The kinds of these options, for each table that has them. */
export const CODE_KINDS = {
  codeErrors: kinds.oneOf("pause", "fail"),
  revision: kinds.name,
} as const satisfies OptionKinds<CodeOptions>;

export const LIMITS = ["maxRunDuration", "maxSuspendDuration", "maxJournalRecords"] as const;
export type LimitName = (typeof LIMITS)[number];

const PERIOD = kinds.either(kinds.literal(false), kinds.period);

/** The kinds of these options, for each table that has them. */
export const POLICY_KINDS = {
  maxRunDuration: PERIOD,
  maxSuspendDuration: PERIOD,
  maxJournalRecords: kinds.either(kinds.literal(false), kinds.integer(1)),
} as const satisfies OptionKinds<PolicyOptions>;

/** The limits of a run, in ms and in records. Null means unlimited. */
export type RunPolicy = Readonly<Record<LimitName, number | null>>;

export const NO_POLICY: RunPolicy = { maxRunDuration: null, maxSuspendDuration: null, maxJournalRecords: null };

/** Resolves options. An omitted option has the value in `defaults`. */
export function resolvePolicy(options: PolicyOptions, defaults: RunPolicy): RunPolicy {
  return {
    maxRunDuration: limit(options, defaults, "maxRunDuration"),
    maxSuspendDuration: limit(options, defaults, "maxSuspendDuration"),
    maxJournalRecords: limit(options, defaults, "maxJournalRecords"),
  };
}

/** The kind of a period returns ms. */
function limit(options: PolicyOptions, defaults: RunPolicy, name: LimitName): number | null {
  const given = options[name];
  if (given === undefined) return defaults[name];
  const value: unknown = readArgument(POLICY_KINDS[name], given, name);
  return value === false ? null : Number(value);
}
