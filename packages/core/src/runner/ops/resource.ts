import { checkName } from "../../model/names.ts";
import { DEFAULT_RETRY, resolveRetry } from "../../model/retry.ts";
import type { Resource, ResourceOptions } from "../../workflow/resource.ts";
import type { Branch } from "./branch.ts";

/** Something the run holds while it is worked on. It is no part of the journal: it may come and go as the code changes. */
export async function resource<Value>(
  branch: Branch,
  name: string,
  options: ResourceOptions<Value>,
): Promise<Resource<Value>> {
  const checked = checkName(name, "resource name");
  const retry = options.retry === undefined ? branch.retry : resolveRetry(options.retry, DEFAULT_RETRY);
  const release = (options.release ?? dispose) as (value: unknown) => unknown;
  return await new Promise((resolve) => {
    branch.host.acquire({
      name: checked,
      acquire: options.acquire,
      release,
      retry,
      settle: (held) => resolve(held as Resource<Value>),
    });
  });
}

/** What can dispose of itself does. */
function dispose(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const { asyncDispose, dispose: sync } = Symbol;
  const method: unknown = Reflect.get(value, asyncDispose ?? "") ?? Reflect.get(value, sync ?? "");
  return typeof method === "function" ? method.call(value) : undefined;
}
