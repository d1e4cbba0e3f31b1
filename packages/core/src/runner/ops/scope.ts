import { JoinError, RaceError } from "../../model/branch-errors.ts";
import { RollbackError } from "../../model/errors.ts";
import { nextLocation } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import type { Ctx, TryResult } from "../../workflow/ctx.ts";
import type { ScopeFailure, ScopeOptions } from "../../workflow/structure.ts";
import { type Branch, branchAt } from "./branch.ts";

/** Runs a named scope and returns its failure as a value. A `RollbackError` is thrown on unless `catch` includes it. */
export async function tryScope<Value>(
  branch: Branch,
  name: string,
  run: (ctx: Ctx) => Value,
  options: ScopeOptions = {},
): Promise<TryResult<Awaited<Value>, ScopeFailure>> {
  const inner = branchAt(branch, nextLocation(branch.scope, checkName(name, "name of try")));
  try {
    return { ok: true, value: await run(inner.createCtx(inner)) };
  } catch (error) {
    const failed = error instanceof Error ? error : new Error(String(error), { cause: error });
    const source = sourceOf(failed);
    if (!(options.catch?.includes(source) ?? source !== "rollback")) throw error;
    return { ok: false, failure: { source, scope: name, error: failed } };
  }
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
