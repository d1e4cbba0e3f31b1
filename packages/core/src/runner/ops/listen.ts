import { type Duration, parseDuration } from "../../model/duration.ts";
import { kinds, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
import type { Arm, Completion } from "../../workflow/command.ts";
import type { Received, TimedOut, WaitOptions } from "../../workflow/ctx.ts";
import { type MessageType, readMessage, readTopic, type TopicType } from "../../workflow/messages.ts";
import { type Branch, completionValue, perform } from "./branch.ts";
import { TIMED_OUT, waitCommand } from "./wait.ts";

type Options = WaitOptions & { readonly timeout?: Duration };

const OPTIONS = optionTable<Options>("the wait", { name: kinds.name, timeout: kinds.duration });
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
      const { name: given = name, timeout } = readOptions(OPTIONS, options);
      return waitCommand(branch, settle, {
        record: "listen",
        name: given,
        arms: [{ kind: "message", name, as: name }],
        until: deadline(branch, timeout),
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
      const { name = arm.as, timeout } = readOptions(OPTIONS, options);
      return waitCommand(branch, settle, {
        record,
        name,
        arms: [arm],
        until: deadline(branch, timeout),
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

function deadline(branch: Branch, timeout: Duration | undefined): number | null {
  return timeout === undefined ? null : branch.host.now() + parseDuration(timeout, "timeout");
}
