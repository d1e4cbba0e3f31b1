import { type Duration, parseDuration } from "../../model/duration.ts";
import { PawlError } from "../../model/errors.ts";
import { kinds, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
import type { Arm, Completion } from "../../workflow/command.ts";
import type { Received, TimedOut, WaitOptions } from "../../workflow/ctx.ts";
import { type MessageType, readMessage, readTopic, type TopicType } from "../../workflow/messages.ts";
import { type Branch, completionValue, perform } from "./branch.ts";
import { parseTime } from "./sleep.ts";
import { TIMED_OUT, waitCommand } from "./wait.ts";

/** At most one of `timeout` and `until`. */
type Options = WaitOptions & { readonly timeout?: Duration | undefined; readonly until?: Date | number | undefined };

const OPTIONS = optionTable<Options>("the wait", { name: kinds.name, timeout: kinds.duration, until: kinds.value });
const COUNT = kinds.integer(1, 10_000);

export function listen<Value>(
  branch: Branch,
  message: string | MessageType<Value>,
  options?: Options,
): Promise<Received<Value> | TimedOut> {
  return receive(branch, "listen", options, () => {
    const { message: name } = readMessage(message);
    return { kind: "message", name, as: name };
  });
}

export function awaitEvent<Value>(
  branch: Branch,
  topic: string | TopicType<Value>,
  options?: Options,
): Promise<Received<Value> | TimedOut> {
  return receive(branch, "event", options, () => {
    const { topic: name } = readTopic(topic);
    return { kind: "event", topic: name, as: name };
  });
}

export function listenN<Value>(
  branch: Branch,
  message: string | MessageType<Value>,
  count: number,
  options?: Options,
): Promise<{ readonly timedOut: boolean; readonly messages: ReadonlyArray<Received<Value>> }> {
  return perform(
    branch,
    (settle) => {
      const { message: name } = readMessage(message);
      const { name: given = name, ...limit } = readOptions(OPTIONS, options);
      return waitCommand(branch, settle, {
        record: "listen",
        name: given,
        arms: [{ kind: "message", name, as: name }],
        until: deadline(branch, limit),
        atDeadline: TIMED_OUT,
        count: readArgument(COUNT, count, "count"),
        many: true,
      });
    },
    (completion) => {
      const messages = (completionValue(completion) ?? []) as ReadonlyArray<Omit<Received<Value>, "timedOut">>;
      return { timedOut: messages.length < count, messages: messages.map((each) => ({ timedOut: false, ...each })) };
    },
  );
}

function receive<Value>(
  branch: Branch,
  record: "listen" | "event",
  options: Options | undefined,
  readArm: () => Arm,
): Promise<Received<Value> | TimedOut> {
  return perform(
    branch,
    (settle) => {
      const arm = readArm();
      const { name = arm.as, ...limit } = readOptions(OPTIONS, options);
      return waitCommand(branch, settle, {
        record,
        name,
        arms: [arm],
        until: deadline(branch, limit),
        atDeadline: TIMED_OUT,
      });
    },
    // A named function: a closure would retain the arguments of the wait.
    receivedOf<Value>,
  );
}

function receivedOf<Value>(completion: Completion): Received<Value> | TimedOut {
  if (completion.outcome === "timedOut") return { timedOut: true };
  return { timedOut: false, ...(completionValue(completion) as Omit<Received<Value>, "timedOut">) };
}

function deadline(branch: Branch, { timeout, until }: Omit<Options, "name">): number | null {
  if (timeout !== undefined && until !== undefined)
    throw new PawlError("OPTION_INVALID", "a wait has either timeout or until; got both");
  if (until !== undefined) return parseTime(until, "until");
  return timeout === undefined ? null : branch.host.now() + parseDuration(timeout, "timeout");
}
