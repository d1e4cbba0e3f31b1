import { parseDuration } from "../../model/duration.ts";
import { PawlError } from "../../model/errors.ts";
import { nextLocation } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import { DEFAULT_RETRY, resolveRetry } from "../../model/retry.ts";
import type { AsyncContext } from "../../runtime/async-context.ts";
import type { StepRollback } from "../../workflow/command.ts";
import type { StepOptions } from "../../workflow/ctx.ts";
import type { Branch } from "./branch.ts";
import { mark } from "./mark.ts";

export function resolveRollback(
  branch: Branch,
  step: string,
  option: NonNullable<StepOptions<never>["rollback"]>,
  context: AsyncContext,
): StepRollback {
  const { run, retry, timeout, retryOnTimeout = false } = typeof option === "function" ? { run: option } : option;
  if (typeof run !== "function")
    throw new PawlError(
      "OPTION_INVALID",
      `rollback of step ${step} must be a function or an object with a function \`run\``,
    );
  const policy = retry === undefined ? branch.retry : resolveRetry(retry, DEFAULT_RETRY);
  return {
    run: run as StepRollback["run"],
    retry: policy,
    shouldRetry: policy.shouldRetry,
    timeoutMs: timeout === undefined ? null : parseDuration(timeout, `timeout of the rollback of step ${step}`),
    retryOnTimeout,
    context,
  };
}

export async function rollbackCheckpoint(branch: Branch, name: string): Promise<void> {
  const location = nextLocation(branch.scope, checkName(name, "name of checkpoint"));
  await mark(branch, { record: "checkpoint", location, detail: null });
}
