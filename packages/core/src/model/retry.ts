import { type Duration, parseDuration } from "./duration.ts";
import { kinds, notAllowed, type OptionKind, type OptionKinds, optionTable, readArgument } from "./option-check.ts";

/** When and how often a failed step body is retried. */
export interface RetryPolicy {
  /** Maximum number of attempts, including the first. */
  readonly maxAttempts: number;
  /** The delay after the first failed attempt. */
  readonly initialMs: number;
  /** The ratio of each delay to the previous one. */
  readonly factor: number;
  /** Added to each further delay, besides the factor. Default: 0. */
  readonly growthMs?: number;
  /** Maximum delay, without jitter. */
  readonly maxMs: number;
  /** Maximum random change of a delay, as a fraction of it: 0 to 1. */
  readonly jitter: number;
}

export type ShouldRetry = (error: Error, attempt: number) => boolean | PromiseLike<boolean>;

export type RetryDelay = (
  attempt: number,
  error: Error,
) => Duration | null | undefined | PromiseLike<Duration | null | undefined>;

/** Retry options. An omitted option has its default. A number for `initialMs` or `maxMs` is in ms. */
export interface RetryOptions {
  readonly maxAttempts?: number;
  readonly initialMs?: Duration;
  readonly factor?: number;
  readonly maxMs?: Duration;
  readonly jitter?: number;
  /** Returns false if the failure is final. Receives the thrown error and the number of attempts so far. Its promise is awaited. */
  readonly shouldRetry?: ShouldRetry;
  /**
   * Returns the delay before the next attempt, without jitter and `maxMs`. If it returns null or undefined, the other options
   * determine the delay. A `RetryAfterError` takes precedence. Its promise is awaited.
   */
  readonly delay?: RetryDelay;
}

/** Retry options without callbacks. */
export type PlainRetryOptions = Omit<RetryOptions, "shouldRetry" | "delay">;

export interface ResolvedRetry extends RetryPolicy {
  readonly shouldRetry: ShouldRetry | null;
  readonly delay: RetryDelay | null;
}

export const DEFAULT_RETRY: ResolvedRetry = {
  maxAttempts: 3,
  initialMs: 1_000,
  factor: 2,
  maxMs: 300_000,
  jitter: 0.1,
  shouldRetry: null,
  delay: null,
};

export const ATTEMPTS_MAX = 1_000_000;
const FACTOR_MAX = 1_000;

const PLAIN_KINDS = {
  maxAttempts: kinds.integer(1, ATTEMPTS_MAX),
  initialMs: kinds.duration,
  factor: kinds.number(1, FACTOR_MAX),
  maxMs: kinds.duration,
  jitter: kinds.number(0, 1),
} as const satisfies OptionKinds<PlainRetryOptions>;

const RETRY_OPTIONS = optionTable<RetryOptions>("retry", {
  ...PLAIN_KINDS,
  shouldRetry: kinds.callback,
  delay: kinds.callback,
});

export const PLAIN_RETRY: OptionKind<PlainRetryOptions> = kinds.options(optionTable("retry", PLAIN_KINDS));
/** `false` means one attempt. */
export const RETRY: OptionKind<RetryOptions | false> = kinds.either(kinds.literal(false), kinds.options(RETRY_OPTIONS));

/** Returns the complete policy. `false` means one attempt. */
export function resolveRetry(given: RetryOptions | false | undefined, fallback: ResolvedRetry): ResolvedRetry {
  if (given === undefined) return fallback;
  const options = readArgument(RETRY, given, "retry");
  if (options === false) return { ...fallback, maxAttempts: 1 };
  const { maxAttempts = fallback.maxAttempts, factor = fallback.factor, jitter = fallback.jitter } = options;
  const { shouldRetry = fallback.shouldRetry, delay = fallback.delay } = options;
  return { maxAttempts, factor, jitter, shouldRetry, delay, ...resolveWaits(options, fallback) };
}

/** An `initialMs` above the default `maxMs` raises `maxMs`. A `maxMs` below the default `initialMs` lowers `initialMs`. */
function resolveWaits(options: RetryOptions, fallback: RetryPolicy): Pick<RetryPolicy, "initialMs" | "maxMs"> {
  const initialMs = options.initialMs === undefined ? null : parseDuration(options.initialMs, "retry.initialMs");
  const maxMs = options.maxMs === undefined ? null : parseDuration(options.maxMs, "retry.maxMs");
  if (initialMs !== null && maxMs !== null) {
    if (maxMs < initialMs) throw notAllowed("retry.maxMs", `at least retry.initialMs, ${initialMs}`, maxMs);
    return { initialMs, maxMs };
  }
  if (initialMs !== null) return { initialMs, maxMs: Math.max(initialMs, fallback.maxMs) };
  if (maxMs !== null) return { initialMs: Math.min(maxMs, fallback.initialMs), maxMs };
  return { initialMs: fallback.initialMs, maxMs: fallback.maxMs };
}

/**
 * Returns the delay in whole ms after failed attempt number `attempt` (1, 2, 3 …). `random01` in [0, 1) selects the jitter. A power that
 * overflows is Infinity, which is limited to `maxMs`, so a delay never wraps around.
 */
export function retryDelayMs(policy: RetryPolicy, attempt: number, random01: number): number {
  const { initialMs, factor, growthMs = 0, maxMs, jitter } = policy;
  if (initialMs === 0) return 0;
  const before = Math.max(0, attempt - 1);
  const steadyMs = Math.min(initialMs * factor ** before + growthMs * before, maxMs);
  const delayMs = Math.ceil(steadyMs * (1 + jitter * (2 * random01 - 1)));
  return Math.max(0, Math.min(delayMs, Math.floor(maxMs * (1 + jitter))));
}
