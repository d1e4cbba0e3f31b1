import { CriticalError } from "pawl";
import type { Element } from "../model/process.ts";
import { taskTimeoutMs } from "../model/timer.ts";

/** The property `timeout` of a task in milliseconds: a number of them, or an ISO 8601 duration. Apart, because two handlers read it. */
export function timeoutOf({ id, properties }: Element): { readonly timeoutMs?: number } {
  const { timeout } = properties;
  if (timeout === undefined) return {};
  const timeoutMs = taskTimeoutMs(timeout);
  if (timeoutMs !== null) return { timeoutMs };
  throw new CriticalError(`timeout of task ${id} is "${timeout}"; it must be milliseconds or a duration such as PT5S`);
}
