import type { RecordKind } from "../../model/record.ts";
import type { Arm, Completion, WaitCommand } from "../../workflow/command.ts";
import { type Branch, locate } from "./branch.ts";

/** What a deadline means: the sleep has elapsed, or the wait timed out. Shared objects, to save memory in hot runs. */
export const ELAPSED: WaitCommand["atDeadline"] = { outcome: "ok", detail: null };
export const TIMED_OUT: WaitCommand["atDeadline"] = { outcome: "timedOut", detail: null };

/** Returns a wait for any of `arms`, or for the deadline. */
export function waitCommand(
  branch: Branch,
  settle: (completion: Completion) => void,
  wait: {
    readonly record: RecordKind;
    readonly name: string;
    readonly arms: readonly Arm[];
    readonly until: number | null;
    readonly atDeadline: WaitCommand["atDeadline"];
    readonly count?: number;
    readonly many?: boolean;
  },
): WaitCommand {
  return {
    kind: "wait",
    record: wait.record,
    location: locate(branch, wait.name),
    issuedAt: branch.host.now(),
    arms: wait.arms,
    count: wait.count ?? 1,
    many: wait.many ?? false,
    until: wait.until,
    atDeadline: wait.atDeadline,
    settle,
  };
}
