import { parseDuration } from "../../model/duration.ts";
import { nextLocation } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import { DEFAULT_RETRY, resolveRetry } from "../../model/retry.ts";
import { currentContext } from "../../runtime/async-context.ts";
import type { Completion, StepCommand, StepInfo } from "../../workflow/command.ts";
import type { StepFailure, StepOptions, TransactionOptions, TryResult, TryStepOptions } from "../../workflow/ctx.ts";
import { type Branch, completionValue, issue, perform } from "./branch.ts";
import { resolveRollback } from "./rollback.ts";
import { markStepError } from "./scope.ts";

export function step<Value>(
  branch: Branch,
  name: string,
  body: (info: StepInfo) => Value,
  options?: StepOptions<Awaited<Value>>,
): Promise<Awaited<Value>> {
  return new Promise((resolve, reject) => {
    const settle = (completion: Completion): void => {
      if (completion.outcome === "failed") reject(markStepError(completion.error));
      else resolve(completionValue(completion) as Awaited<Value>);
    };
    issue(branch, stepCommand(branch, name, body, options, settle));
  });
}

export function tryStep<Value>(
  branch: Branch,
  name: string,
  body: (info: StepInfo) => Value,
  options?: TryStepOptions<Awaited<Value>>,
): Promise<TryResult<Awaited<Value>, StepFailure>> {
  return perform(
    branch,
    (settle) => stepCommand(branch, name, body, options, settle),
    (completion): TryResult<Awaited<Value>, StepFailure> => {
      if (completion.outcome !== "failed") return { ok: true, value: completionValue(completion) as Awaited<Value> };
      const kind = (completion.detail ?? "exhausted") as StepFailure["kind"];
      if (!(options?.catch?.includes(kind) ?? kind !== "rollback")) throw markStepError(completion.error);
      return { ok: false, failure: { kind, step: name, error: completion.error } };
    },
  );
}

const NO_OPTIONS: StepOptions<never> = {};

function stepCommand(
  branch: Branch,
  name: string,
  body: (info: StepInfo) => unknown,
  options: StepOptions<never> = NO_OPTIONS,
  settle: (completion: Completion) => void,
): StepCommand {
  const { timeout, rollback } = options;
  const context = currentContext();
  const retry = options.retry === undefined ? branch.retry : resolveRetry(options.retry, DEFAULT_RETRY);
  return {
    kind: "step",
    record: "step",
    location: nextLocation(branch.scope, checkName(name, "step name")),
    issuedAt: branch.host.now(),
    body,
    retry,
    shouldRetry: retry.shouldRetry ?? null,
    timeoutMs: timeout === undefined ? null : parseDuration(timeout, `timeout of step ${name}`),
    retryOnTimeout: options.retryOnTimeout ?? false,
    ephemeral: options.ephemeral ?? false,
    idempotencyKey: options.idempotencyKey ?? null,
    rollback: rollback === undefined ? null : resolveRollback(branch, name, rollback, context),
    context,
    attempts: 0,
    retryAt: 0,
    settle,
  };
}

/** Runs a step whose body the store executes inside its own transaction. Its record commits with the body's writes. */
export function transaction<Tx, Value>(
  branch: Branch,
  name: string,
  body: (tx: Tx, info: StepInfo) => Value,
  options?: TransactionOptions<Awaited<Value>>,
): Promise<Awaited<Value>> {
  return perform(
    branch,
    (settle) => ({
      ...stepCommand(branch, name, nothing, options, settle),
      record: "transaction",
      transact: (tx, info) => body(tx as Tx, info),
    }),
    (completion) => {
      if (completion.outcome === "failed") throw markStepError(completion.error);
      return completionValue(completion) as Awaited<Value>;
    },
  );
}

function nothing(): void {
  // The store calls `transact` instead.
}
