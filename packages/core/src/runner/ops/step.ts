import { parseDuration } from "../../model/duration.ts";
import { checkName } from "../../model/names.ts";
import { kinds, notAllowed, type OptionKinds, optionTable, readOptions } from "../../model/option-check.ts";
import { DEFAULT_RETRY, RETRY, resolveRetry } from "../../model/retry.ts";
import { currentContext } from "../../runtime/async-context.ts";
import type { Completion, StepCommand, StepInfo } from "../../workflow/command.ts";
import type { StepFailure, StepOptions, TransactionOptions, TryResult, TryStepOptions } from "../../workflow/ctx.ts";
import { type Branch, completionValue, issue, locate, perform } from "./branch.ts";
import { ROLLBACK, resolveRollback } from "./rollback.ts";
import { markStepError } from "./scope.ts";

const STEP_KINDS = {
  retry: RETRY,
  timeout: kinds.duration,
  retryOnTimeout: kinds.flag,
  ephemeral: kinds.flag,
  idempotencyKey: kinds.text,
  rollback: ROLLBACK,
} as const satisfies OptionKinds<StepOptions<never>>;

const STEP_OPTIONS = optionTable<StepOptions<never>>("step", STEP_KINDS);
const TRY_STEP_OPTIONS = optionTable<TryStepOptions<never>>("tryStep", {
  ...STEP_KINDS,
  catch: kinds.list(kinds.oneOf("critical", "timeout", "exhausted", "rollback")),
});
const TRANSACTION_OPTIONS = optionTable<TransactionOptions<never>>("transaction", {
  retry: RETRY,
  idempotencyKey: kinds.text,
  rollback: ROLLBACK,
});

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
    issue(branch, stepCommand(branch, name, body, readOptions(STEP_OPTIONS, options), settle));
  });
}

export function tryStep<Value>(
  branch: Branch,
  name: string,
  body: (info: StepInfo) => Value,
  options?: TryStepOptions<Awaited<Value>>,
): Promise<TryResult<Awaited<Value>, StepFailure>> {
  let caught: readonly StepFailure["kind"][] | undefined;
  return perform(
    branch,
    (settle) => {
      const checked = readOptions(TRY_STEP_OPTIONS, options);
      caught = checked.catch;
      return stepCommand(branch, name, body, checked, settle);
    },
    (completion): TryResult<Awaited<Value>, StepFailure> => {
      if (completion.outcome !== "failed") return { ok: true, value: completionValue(completion) as Awaited<Value> };
      const why = (completion.detail ?? "exhausted") as StepFailure["kind"];
      if (!(caught?.includes(why) ?? why !== "rollback")) throw markStepError(completion.error);
      return { ok: false, failure: { kind: why, step: name, error: completion.error } };
    },
  );
}

/** `options` are checked. */
function stepCommand(
  branch: Branch,
  name: string,
  body: (info: StepInfo) => unknown,
  options: StepOptions<never>,
  settle: (completion: Completion) => void,
): StepCommand {
  checkName(name, "step name");
  if (typeof body !== "function") throw notAllowed(`body of step ${name}`, "a function", body);
  const { timeout, rollback } = options;
  const context = currentContext();
  const retry = options.retry === undefined ? branch.retry : resolveRetry(options.retry, DEFAULT_RETRY);
  return {
    kind: "step",
    record: "step",
    location: locate(branch, name),
    issuedAt: branch.host.now(),
    body,
    retry,
    shouldRetry: retry.shouldRetry,
    retryDelay: retry.delay,
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
    (settle) => {
      checkName(name, "step name");
      if (typeof body !== "function") throw notAllowed(`body of transaction ${name}`, "a function", body);
      return {
        ...stepCommand(branch, name, nothing, readOptions(TRANSACTION_OPTIONS, options), settle),
        record: "transaction",
        transact: (tx, info) => body(tx as Tx, info),
      };
    },
    (completion) => {
      if (completion.outcome === "failed") throw markStepError(completion.error);
      return completionValue(completion) as Awaited<Value>;
    },
  );
}

function nothing(): void {
  // The store calls `transact` instead.
}
