import { type Duration, parseDuration } from "../../model/duration.ts";
import { PawlError } from "../../model/errors.ts";
import { checkName } from "../../model/names.ts";
import type { Arm, Completion } from "../../workflow/command.ts";
import type { Received, TimedOut, WaitOptions } from "../../workflow/ctx.ts";
import type { MessageType, TopicType } from "../../workflow/messages.ts";
import { type Branch, completionValue, perform } from "./branch.ts";
import { TIMED_OUT, waitCommand } from "./wait.ts";

type Options = WaitOptions & { readonly timeout?: Duration };

export function listen<Value>(
  branch: Branch,
  message: string | MessageType<Value>,
  options: Options = {},
): Promise<Received<Value> | TimedOut> {
  const name = messageName(message);
  return receive(branch, "listen", name, { kind: "message", name, as: name }, options);
}

export function awaitEvent<Value>(
  branch: Branch,
  topic: string | TopicType<Value>,
  options: Options = {},
): Promise<Received<Value> | TimedOut> {
  const name = topicName(topic);
  return receive(branch, "event", name, { kind: "event", topic: name, as: name }, options);
}

export function listenN<Value>(
  branch: Branch,
  message: string | MessageType<Value>,
  count: number,
  options: Options = {},
): Promise<{ readonly timedOut: boolean; readonly messages: ReadonlyArray<Received<Value>> }> {
  const name = messageName(message);
  return perform(
    branch,
    (settle) => {
      if (!Number.isInteger(count) || count < 1 || count > 10_000) {
        throw new PawlError(
          "OPTION_INVALID",
          `count of listenN for ${name} must be an integer from 1 to 10,000; got ${count}`,
        );
      }
      return waitCommand(branch, settle, {
        record: "listen",
        name: checkName(options.name ?? name, "name of listenN"),
        arms: [{ kind: "message", name: checkName(name, "message name"), as: name }],
        until: deadline(branch, options.timeout),
        atDeadline: TIMED_OUT,
        count,
        many: true,
      });
    },
    (completion) => {
      const messages = (completionValue(completion) ?? []) as ReadonlyArray<Omit<Received<Value>, "timedOut">>;
      return { timedOut: messages.length < count, messages: messages.map((each) => ({ timedOut: false, ...each })) };
    },
  );
}

/** Untyped code may pass anything. A value without a name is rejected like an invalid name. */
export function messageName(message: string | MessageType<unknown> | null | undefined): string {
  return typeof message === "string" ? message : checkName(message?.message, "message name");
}

export function topicName(topic: string | TopicType<unknown> | null | undefined): string {
  return typeof topic === "string" ? topic : checkName(topic?.topic, "topic");
}

function receive<Value>(
  branch: Branch,
  record: "listen" | "event",
  name: string,
  arm: Arm,
  options: Options,
): Promise<Received<Value> | TimedOut> {
  return perform(
    branch,
    (settle) => {
      checkName(name, record === "listen" ? "message name" : "topic");
      return waitCommand(branch, settle, {
        record,
        name: checkName(options.name ?? name, `name of ${record}`),
        arms: [arm],
        until: deadline(branch, options.timeout),
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
