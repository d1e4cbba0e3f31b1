import { type Duration, parseDuration } from "./duration.ts";

/**
 * Thrown by a step body to set the delay before its next attempt, for example from a `Retry-After` header. Apart from `errors.ts`,
 * because durations need its errors.
 */
export class RetryAfterError extends Error {
  override readonly name = "RetryAfterError";
  readonly code = "RETRY_AFTER";
  readonly delayMs: number;
  constructor(message: string, delay: Duration, options?: ErrorOptions) {
    super(message, options);
    this.delayMs = parseDuration(delay, "delay of RetryAfterError");
  }
}
