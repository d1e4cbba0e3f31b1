import type { Duration } from "../model/duration.ts";
import type { RetryOptions } from "../model/retry.ts";
import type { StepInfo } from "./command.ts";

/** Undoes a step that has completed; gets what the step returned. */
export type RollbackHandler<Value> = (value: Value, info: StepInfo) => unknown;

export interface RollbackOptions<Value> {
  readonly run: RollbackHandler<Value>;
  /** `false`: one try. Default: the workflow's, then 3 tries, 1 s apart at first. */
  readonly retry?: RetryOptions | false;
  /** How long one try may take. Default: as long as it likes. */
  readonly timeout?: Duration;
  /** Whether a try that took too long is tried again. Default: it is not, and what the step did stays. */
  readonly retryOnTimeout?: boolean;
}
