import { JoinError, RaceError } from "../../model/branch-errors.ts";
import { RollbackError } from "../../model/errors.ts";
import { checkName } from "../../model/names.ts";
import { kinds, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
import type { Ctx, TryResult } from "../../workflow/ctx.ts";
import type { ScopeFailure, ScopeOptions } from "../../workflow/structure.ts";
import { type Branch, branchAt, locate } from "./branch.ts";

const SCOPE_OPTIONS = optionTable<ScopeOptions>("try", {
  catch: kinds.list(kinds.oneOf("step", "child", "join", "race", "rollback", "code")),
});

/** Runs a named scope and returns its failure as a value. A `RollbackError` is thrown on unless `catch` includes it. */
export async function tryScope<Value>(
  branch: Branch,
  name: string,
  run: (ctx: Ctx) => Value,
  options?: ScopeOptions,
): Promise<TryResult<Awaited<Value>, ScopeFailure>> {
  checkName(name, "name of try");
  readArgument(kinds.callback, run, `function of try ${name}`);
  const { catch: caught } = readOptions(SCOPE_OPTIONS, options);
  const inner = branchAt(branch, locate(branch, name));
  try {
    return { ok: true, value: await run(inner.createCtx(inner)) };
  } catch (error) {
    const failure = caughtFailure(name, error);
    if (!(caught?.includes(failure.source) ?? failure.source !== "rollback")) throw error;
    return { ok: false, failure };
  }
}

/** Describes what the code of a scope has thrown. */
export function caughtFailure(scope: string, thrown: unknown): ScopeFailure {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
  return { source: sourceOf(error), scope, error };
}

/** Errors that were thrown by a step. */
const stepErrors = new WeakSet<Error>();

export function markStepError(error: Error): Error {
  stepErrors.add(error);
  return error;
}

function sourceOf(error: Error): ScopeFailure["source"] {
  if (error instanceof RollbackError || error.name === "RollbackError") return "rollback";
  if (stepErrors.has(error)) return "step";
  if (error instanceof JoinError) return "join";
  if (error instanceof RaceError) return "race";
  // A recorded failure has its name and code, but is not an instance of its class.
  return "code" in error && error.code === "CHILD_FAILED" ? "child" : "code";
}
