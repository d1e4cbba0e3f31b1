import { type Duration, parseDuration } from "../../model/duration.ts";
import { PawlError } from "../../model/errors.ts";
import { checkName } from "../../model/names.ts";
import type { WaitOptions } from "../../workflow/ctx.ts";
import { type Branch, perform } from "./branch.ts";
import { ELAPSED, waitCommand } from "./wait.ts";

/** The deadline counts from the program's time, which is the same in every replay, so it needs no record. */
export function sleep(branch: Branch, duration: Duration, options: WaitOptions = {}): Promise<void> {
  return sleepTo(branch, () => branch.host.now() + parseDuration(duration, "duration of sleep"), options);
}

export function sleepUntil(branch: Branch, time: Date | number, options: WaitOptions = {}): Promise<void> {
  return sleepTo(branch, () => parseTime(time, "time of sleepUntil"), options);
}

/** Returns a time as epoch ms. */
export function parseTime(time: Date | number, what: string): number {
  const at = typeof time === "number" ? time : time instanceof Date ? time.getTime() : Number.NaN;
  if (!Number.isFinite(at))
    throw new PawlError("DURATION_INVALID", `${what} must be a valid Date or epoch ms; got ${String(time)}`);
  return Math.ceil(at);
}

function sleepTo(branch: Branch, until: () => number, options: WaitOptions): Promise<void> {
  return perform(
    branch,
    (settle) =>
      waitCommand(branch, settle, {
        record: "sleep",
        name: checkName(options.name ?? "sleep", "name of sleep"),
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
