import { type Duration, parseDuration } from "../../model/duration.ts";
import { PawlError } from "../../model/errors.ts";
import { checkName } from "../../model/names.ts";
import type { WaitOptions } from "../../workflow/ctx.ts";
import { type Branch, issued } from "./branch.ts";
import { OVER, waitCommand } from "./wait.ts";

/** The deadline counts from the program's time, which is the same in every replay: so it needs no record of its own. */
export function sleep(branch: Branch, duration: Duration, options: WaitOptions = {}): Promise<void> {
  return sleepTill(branch, () => branch.host.now() + parseDuration(duration, "duration of sleep"), options);
}

export function sleepUntil(branch: Branch, time: Date | number, options: WaitOptions = {}): Promise<void> {
  return sleepTill(branch, () => parseTime(time, "time of sleepUntil"), options);
}

/** A point in time as epoch ms. */
export function parseTime(time: Date | number, what: string): number {
  const at = typeof time === "number" ? time : time instanceof Date ? time.getTime() : Number.NaN;
  if (!Number.isFinite(at)) throw new PawlError("DURATION_INVALID", `${what} is neither a valid Date nor epoch ms`);
  return Math.ceil(at);
}

function sleepTill(branch: Branch, until: () => number, options: WaitOptions): Promise<void> {
  return issued(
    branch,
    (settle) =>
      waitCommand(branch, settle, {
        record: "sleep",
        name: checkName(options.name ?? "sleep", "name of sleep"),
        arms: [],
        until: until(),
        atDeadline: OVER,
      }),
    nothing,
  );
}

function nothing(): undefined {
  return undefined;
}
