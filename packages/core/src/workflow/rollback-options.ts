import type { Duration } from "../model/duration.ts";
import type { RetryOptions } from "../model/retry.ts";
import type { RollbackInfo } from "./command.ts";

/** Undoes a completed step. Receives the step's result. */
export type RollbackHandler<Value> = (value: Value, info: RollbackInfo) => unknown;

export interface RollbackOptions<Value> {
  readonly run: RollbackHandler<Value>;
  /** Retry policy. `false` means one attempt. Default: the workflow's policy, else 3 attempts, 1 s and 2 s apart. */
  readonly retry?: RetryOptions | false;
  /** Maximum duration of one attempt. Default: unlimited. */
  readonly timeout?: Duration;
  /** Whether an attempt that timed out is retried. Default: false; the rollback fails at once. */
  readonly retryOnTimeout?: boolean;
  /**
   * Whether it also undoes a body that was abandoned, or lost in a crash, when the run stopped. `info.finished` is false then, and the value
   * is undefined. Costs a record before the body. Default: false.
   */
  readonly unfinished?: boolean;
}
