import { checkName } from "../../model/names.ts";
import { kinds, type OptionTable, optionTable, readOptions } from "../../model/option-check.ts";
import { DEFAULT_RETRY, RETRY, resolveRetry } from "../../model/retry.ts";
import { currentContext } from "../../runtime/async-context.ts";
import type { Resource, ResourceOptions } from "../../workflow/resource-options.ts";
import { type Branch, checkNotInStep } from "./branch.ts";

const RESOURCE_OPTIONS = optionTable<ResourceOptions<never>>("resource", {
  acquire: kinds.required(kinds.callback),
  release: kinds.callback,
  retry: RETRY,
});

/** Acquires a resource. It is not in the journal, so code changes may add or remove it freely. */
export async function resource<Value>(
  branch: Branch,
  name: string,
  given: ResourceOptions<Value>,
): Promise<Resource<Value>> {
  const checked = checkName(name, "resource name");
  checkNotInStep(branch, checked);
  const options = readOptions<ResourceOptions<Value>>(RESOURCE_OPTIONS as OptionTable<never>, given);
  const retry = options.retry === undefined ? branch.retry : resolveRetry(options.retry, DEFAULT_RETRY);
  const release = (options.release ?? dispose) as (value: unknown) => unknown;
  return await new Promise((resolve) => {
    branch.host.acquire({
      name: checked,
      acquire: options.acquire,
      release,
      retry,
      context: currentContext(),
      settle: (acquired) => resolve(acquired as Resource<Value>),
    });
  });
}

/** Calls the value's `Symbol.asyncDispose` or `Symbol.dispose`, if it has one. */
function dispose(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const { asyncDispose, dispose: sync } = Symbol;
  const method: unknown = Reflect.get(value, asyncDispose ?? "") ?? Reflect.get(value, sync ?? "");
  return typeof method === "function" ? method.call(value) : undefined;
}
