import { parseDuration } from "../model/duration.ts";
import { toError, toFailure } from "../model/failure.ts";
import { objectKind, read } from "../model/payload-values.ts";
import { type RetryDelay, type RetryPolicy, retryDelayMs, type ShouldRetry } from "../model/retry.ts";

/** When and how often user code is repeated, with the callbacks that may decide it. */
export interface RetryRules {
  readonly policy: RetryPolicy;
  readonly shouldRetry: ShouldRetry | null;
  readonly delay: RetryDelay | null;
}

export interface FailedAttempt {
  readonly thrown: unknown;
  /** Its number, from 1. */
  readonly attempt: number;
  /** Determines the jitter; in [0, 1). */
  readonly random01: number;
}

/** Called if a callback throws, rejects, or returns a delay that is not a duration. */
export type OnCallbackFailure = (callback: "shouldRetry" | "delay", error: unknown) => void;

/** Returns the delay in ms before the next attempt, or null if the failure is final. Awaits the policy's callbacks. */
export async function decideRetry(
  { policy, shouldRetry, delay }: RetryRules,
  failed: FailedAttempt,
  onFailure: OnCallbackFailure,
): Promise<number | null> {
  const { attempt, thrown } = failed;
  const error = asError(thrown);
  try {
    if (shouldRetry !== null && !(await shouldRetry(error, attempt))) return null;
  } catch (failure) {
    onFailure("shouldRetry", failure);
    return null;
  }
  const requestedMs = requestedDelayMs(thrown);
  if (requestedMs !== null) return requestedMs;
  try {
    const chosen = delay === null ? null : await delay(attempt, error);
    if (chosen !== null && chosen !== undefined) return parseDuration(chosen, "result of retry.delay");
  } catch (failure) {
    onFailure("delay", failure);
  }
  return retryDelayMs(policy, attempt, failed.random01);
}

/** As `decideRetry` for a policy without callbacks. */
export function plainRetryMs(policy: RetryPolicy, { thrown, attempt, random01 }: FailedAttempt): number {
  return requestedDelayMs(thrown) ?? retryDelayMs(policy, attempt, random01);
}

/** The delay that a `RetryAfterError` requests. Recognised by its code: the class may come from another copy of the package. */
function requestedDelayMs(thrown: unknown): number | null {
  if (typeof thrown !== "object" || thrown === null || read(thrown, "code") !== "RETRY_AFTER") return null;
  const delayMs = read(thrown, "delayMs");
  try {
    return parseDuration(delayMs, "delayMs");
  } catch {
    // The error has another origin, and its delay another meaning.
    return null;
  }
}

/** Returns a thrown error itself, so that `instanceof` works, and an error that describes any other thrown value. */
function asError(thrown: unknown): Error {
  try {
    if (typeof thrown === "object" && thrown !== null && objectKind(thrown) === "error") return thrown as Error;
  } catch {
    // A proxy may throw even when its class is read.
  }
  return toError(toFailure(thrown));
}
