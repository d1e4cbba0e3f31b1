import { parseDuration } from "../../model/duration.ts";
import { PawlError } from "../../model/errors.ts";
import { checkName } from "../../model/names.ts";
import type { Arm, Completion } from "../../workflow/command.ts";
import type { SelectArm, Selected, WaitOptions } from "../../workflow/ctx.ts";
import { type Branch, completionValue, perform } from "./branch.ts";
import { childArm } from "./child.ts";
import { messageName, topicName } from "./listen.ts";
import { parseTime } from "./sleep.ts";
import { waitCommand } from "./wait.ts";

export function select<const Arms extends Readonly<Record<string, SelectArm>>>(
  branch: Branch,
  arms: Arms,
  options: WaitOptions = {},
): Promise<Selected<Arms>> {
  return perform(
    branch,
    (settle) => {
      const timer = earliestTimer(branch, arms);
      const inboxArms = Object.entries(arms).flatMap(([key, arm]) => inboxArm(key, arm));
      if (inboxArms.length === 0 && timer === null)
        throw new PawlError("OPTION_INVALID", "select has no arms; pass at least one");
      return waitCommand(branch, settle, {
        record: "select",
        name: checkName(options.name ?? "select", "name of select"),
        arms: inboxArms,
        until: timer?.at ?? null,
        atDeadline: { outcome: "ok", detail: timer?.key ?? null },
      });
    },
    selectedOf(arms),
  );
}

function selectedOf<const Arms extends Readonly<Record<string, SelectArm>>>(
  arms: Arms,
): (completion: Completion) => Selected<Arms> {
  return (completion) => {
    const value = completionValue(completion);
    const key = completion.outcome === "ok" ? (completion.detail ?? "") : "";
    const arm = arms[key];
    const message = arm !== undefined && ("message" in arm || "event" in arm);
    return { key, value: message ? (value as { value: unknown }).value : value } as Selected<Arms>;
  };
}

function inboxArm(key: string, arm: SelectArm): readonly Arm[] {
  if ("message" in arm)
    return [{ kind: "message", name: checkName(messageName(arm.message), "message name"), as: key }];
  if ("event" in arm) return [{ kind: "event", topic: checkName(topicName(arm.event), "topic"), as: key }];
  if ("child" in arm) return [childArm(arm.child, key)];
  return [];
}

function earliestTimer(
  branch: Branch,
  arms: Readonly<Record<string, SelectArm>>,
): { readonly key: string; readonly at: number } | null {
  let earliest: { readonly key: string; readonly at: number } | null = null;
  for (const [key, arm] of Object.entries(arms)) {
    const at =
      "after" in arm
        ? branch.host.now() + parseDuration(arm.after, `arm ${key} of select`)
        : "until" in arm
          ? parseTime(arm.until, `arm ${key} of select`)
          : null;
    if (at !== null && (earliest === null || at < earliest.at)) earliest = { key, at };
  }
  return earliest;
}
