import { JoinError, PawlError, RaceError, RollbackError } from "../../model/errors.ts";
import { nextLocation } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import type { Ctx, TryResult } from "../../workflow/ctx.ts";
import type { ScopeFailure } from "../../workflow/structure.ts";
import { type Branch, branchAt } from "./branch.ts";

/** A named scope whose failure is a value. One that asks for everything to be undone goes on its way. */
export async function tryScope<Value>(
  branch: Branch,
  name: string,
  run: (ctx: Ctx) => Value,
): Promise<TryResult<Awaited<Value>, ScopeFailure>> {
  const inner = branchAt(branch, nextLocation(branch.scope, checkName(name, "name of try")));
  try {
    return { ok: true, value: await run(inner.createCtx(inner)) };
  } catch (error) {
    if (error instanceof RollbackError) throw error;
    const failed = error instanceof Error ? error : new Error(String(error), { cause: error });
    return { ok: false, failure: { source: sourceOf(failed), scope: name, error: failed } };
  }
}

/** Errors that steps have brought to the code. */
const ofSteps = new WeakSet<Error>();

export function broughtByStep(error: Error): Error {
  ofSteps.add(error);
  return error;
}

function sourceOf(error: Error): ScopeFailure["source"] {
  if (ofSteps.has(error)) return "step";
  if (error instanceof JoinError) return "join";
  if (error instanceof RaceError) return "race";
  return error instanceof PawlError && error.code === "CHILD_FAILED" ? "child" : "code";
}
