import { type Duration, parseDuration } from "../../model/duration.ts";
import { kinds, notAllowed, optionTable, readOptions } from "../../model/option-check.ts";
import type { WaitOptions } from "../../workflow/ctx.ts";
import { type Branch, perform } from "./branch.ts";
import { ELAPSED, waitCommand } from "./wait.ts";

/** The deadline counts from the program's time, which is the same in every replay, so it needs no record. */
export function sleep(branch: Branch, duration: Duration, options?: WaitOptions): Promise<void> {
  return sleepTo(branch, () => branch.host.now() + parseDuration(duration, "duration of sleep"), options);
}

export function sleepUntil(branch: Branch, time: Date | number, options?: WaitOptions): Promise<void> {
  return sleepTo(branch, () => parseTime(time, "time of sleepUntil"), options);
}

/** Any moment that a `Date` can hold. */
const TIME_MAX = 8.64e15;

/** Returns a time as epoch ms. A time before 1970 has passed like any other. */
export function parseTime(time: Date | number | undefined, what: string): number {
  const at = typeof time === "number" ? time : epochOf(time);
  if (!(Math.abs(at) <= TIME_MAX)) throw notAllowed(what, "a valid Date or epoch ms", time, "DURATION_INVALID");
  return Math.max(0, Math.ceil(at));
}

/** NaN for anything but a `Date`, also for an object that only has its prototype. */
function epochOf(time: unknown): number {
  try {
    return Date.prototype.getTime.call(time);
  } catch {
    return Number.NaN;
  }
}

const WAIT_OPTIONS = optionTable<WaitOptions>("the wait", { name: kinds.name });

function sleepTo(branch: Branch, until: () => number, options: WaitOptions | undefined): Promise<void> {
  return perform(
    branch,
    (settle) =>
      waitCommand(branch, settle, {
        record: "sleep",
        name: readOptions(WAIT_OPTIONS, options).name ?? "sleep",
        arms: [],
        until: until(),
        atDeadline: ELAPSED,
      }),
    nothing,
  );
}

function nothing(): undefined {
  return undefined;
}
