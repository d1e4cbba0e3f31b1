import { parseDuration } from "../../model/duration.ts";
import { checkName } from "../../model/names.ts";
import { kinds, optionTable } from "../../model/option-check.ts";
import { DEFAULT_RETRY, RETRY, resolveRetry } from "../../model/retry.ts";
import type { AsyncContext } from "../../runtime/async-context.ts";
import type { StepRollback } from "../../workflow/command.ts";
import type { StepOptions } from "../../workflow/ctx.ts";
import type { RollbackOptions } from "../../workflow/rollback-options.ts";
import { type Branch, locate } from "./branch.ts";
import { mark } from "./mark.ts";

/** A function, or an object with a function `run`. */
export const ROLLBACK = kinds.either(
  kinds.callback,
  kinds.options(
    optionTable<RollbackOptions<never>>("the rollback", {
      run: kinds.required(kinds.callback),
      retry: RETRY,
      timeout: kinds.duration,
      retryOnTimeout: kinds.flag,
      unfinished: kinds.flag,
    }),
  ),
);

/** `option` is checked. */
export function resolveRollback(
  branch: Branch,
  step: string,
  option: NonNullable<StepOptions<never>["rollback"]>,
  context: AsyncContext,
): StepRollback {
  const options: RollbackOptions<never> = typeof option === "function" ? { run: option } : option;
  const { run, retry, timeout, retryOnTimeout = false, unfinished = false } = options;
  const policy = retry === undefined ? branch.retry : resolveRetry(retry, DEFAULT_RETRY);
  return {
    run: run as StepRollback["run"],
    retry: policy,
    shouldRetry: policy.shouldRetry,
    retryDelay: policy.delay,
    timeoutMs: timeout === undefined ? null : parseDuration(timeout, `timeout of the rollback of step ${step}`),
    retryOnTimeout,
    unfinished,
    context,
  };
}

export async function rollbackCheckpoint(branch: Branch, name: string): Promise<void> {
  const location = locate(branch, checkName(name, "name of checkpoint"));
  await mark(branch, { record: "checkpoint", location, detail: null });
}
