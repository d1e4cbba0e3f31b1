import { CriticalError } from "pawl";
import type { Element } from "../model/process.ts";
import { parseTimer } from "../model/timer.ts";

/** The property `timeout` of a task in milliseconds: a number of them, or an ISO 8601 duration. Apart, because two handlers read it. */
export function timeoutOf({ id, properties }: Element): { readonly timeoutMs?: number } {
  const { timeout } = properties;
  if (timeout === undefined) return {};
  const timer = parseTimer("duration", timeout);
  const ms = timer?.kind === "duration" && timer.duration.months === 0 ? timer.duration.ms : Number(timeout);
  if (Number.isSafeInteger(ms) && ms > 0) return { timeoutMs: ms };
  throw new CriticalError(`timeout of task ${id} is "${timeout}"; it must be milliseconds or a duration such as PT5S`);
}
