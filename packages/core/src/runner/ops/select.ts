import { type Duration, parseDuration } from "../../model/duration.ts";
import { PawlError } from "../../model/errors.ts";
import { checkName } from "../../model/names.ts";
import { kinds, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
import type { Arm, Completion } from "../../workflow/command.ts";
import type { ChildHandle, SelectArm, Selected, WaitOptions } from "../../workflow/ctx.ts";
import { type MessageType, readMessage, readTopic, type TopicType } from "../../workflow/messages.ts";
import { type Branch, completionValue, perform } from "./branch.ts";
import { childArm } from "./child.ts";
import { parseTime } from "./sleep.ts";
import { waitCommand } from "./wait.ts";

const OPTIONS = optionTable<WaitOptions>("the wait", { name: kinds.name });

/** An arm as it is passed. It has one of these. */
interface GivenArm {
  readonly message?: string | MessageType<unknown>;
  readonly event?: string | TopicType<unknown>;
  readonly child?: ChildHandle<unknown>;
  readonly after?: Duration;
  readonly until?: Date | number;
}

const ARMS = kinds.map(
  kinds.options(
    optionTable<GivenArm>("the arm", {
      message: kinds.value,
      event: kinds.value,
      child: kinds.value,
      after: kinds.value,
      until: kinds.value,
    }),
  ),
);

/** What ends the wait: an entry of the inbox, or a time. */
type ReadArm = { readonly key: string } & ({ readonly inbox: Arm } | { readonly at: number });

export function select<const Arms extends Readonly<Record<string, SelectArm>>>(
  branch: Branch,
  arms: Arms,
  options?: WaitOptions,
): Promise<Selected<Arms>> {
  const received = new Set<string>();
  return perform(
    branch,
    (settle) => {
      const all = readArms(branch, arms);
      const inboxArms = all.flatMap((arm) => ("inbox" in arm ? [arm.inbox] : []));
      const timer = earliest(all);
      for (const { kind: entry, as } of inboxArms) if (entry !== "child") received.add(as);
      return waitCommand(branch, settle, {
        record: "select",
        name: readOptions(OPTIONS, options).name ?? "select",
        arms: inboxArms,
        until: timer?.at ?? null,
        atDeadline: { outcome: "ok", detail: timer?.key ?? null },
      });
    },
    selectedOf<Arms>(received),
  );
}

/** `received` has the keys of the arms whose value is in a message or an event. */
function selectedOf<Arms>(received: ReadonlySet<string>): (completion: Completion) => Selected<Arms> {
  return (completion) => {
    const value = completionValue(completion);
    const key = completion.outcome === "ok" ? (completion.detail ?? "") : "";
    return { key, value: received.has(key) ? (value as { value: unknown }).value : value } as Selected<Arms>;
  };
}

function readArms(branch: Branch, arms: Readonly<Record<string, SelectArm>>): readonly ReadArm[] {
  const entries = Object.entries(readArgument(ARMS, arms, "arms"));
  if (entries.length === 0) throw new PawlError("OPTION_INVALID", "select has no arms; pass at least one");
  return entries.map(([key, arm]) => {
    checkName(key, "key of an arm");
    const [only, ...others] = Object.entries(arm);
    if (only === undefined || others.length > 0)
      throw new PawlError("OPTION_INVALID", `arm ${key} must have one of message, event, child, after and until`);
    return readArm(branch, key, arm);
  });
}

function readArm(branch: Branch, key: string, arm: GivenArm): ReadArm {
  const { message, event, child, after, until } = arm;
  if (message !== undefined) return { key, inbox: { kind: "message", name: readMessage(message).message, as: key } };
  if (event !== undefined) return { key, inbox: { kind: "event", topic: readTopic(event).topic, as: key } };
  if (child !== undefined) return { key, inbox: childArm(child, key) };
  if (after !== undefined) return { key, at: branch.host.now() + parseDuration(after, `after of arm ${key}`) };
  return { key, at: parseTime(until, `until of arm ${key}`) };
}

function earliest(arms: readonly ReadArm[]): { readonly key: string; readonly at: number } | null {
  let first: { readonly key: string; readonly at: number } | null = null;
  for (const arm of arms) if ("at" in arm && (first === null || arm.at < first.at)) first = arm;
  return first;
}
