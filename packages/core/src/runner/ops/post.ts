import { parseDuration } from "../../model/duration.ts";
import { nextLocation } from "../../model/location.ts";
import { checkName, checkTarget } from "../../model/names.ts";
import { checkSchema } from "../../model/schema.ts";
import type { EventPost } from "../../model/transition.ts";
import type { SendOptions } from "../../workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "../../workflow/messages.ts";
import { postId } from "../program-posts.ts";
import { type Branch, perform } from "./branch.ts";
import { messageName, topicName } from "./listen.ts";

export function send<Value>(
  branch: Branch,
  runId: string,
  message: string | MessageType<Value>,
  value: Value,
  options: SendOptions = {},
): Promise<void> {
  const { host, settings } = branch;
  return perform(
    branch,
    (settle) => {
      const name = checkName(messageName(message), "message name");
      const schema = typeof message === "string" ? null : message.schema;
      const payload = settings.codec.encode(
        schema === null ? value : checkSchema(schema, value, `message ${name}`),
        `message ${name}`,
      );
      const location = nextLocation(branch.scope, `send ${name}`);
      return {
        kind: "post",
        record: "send",
        location,
        issuedAt: host.now(),
        post: {
          kind: "message",
          to: checkTarget(runId),
          id: options.id ?? postId(host, location),
          name,
          value: payload,
          at: host.now(),
          onTargetTerminated: options.onTargetTerminated ?? "discard",
          from: host.runId,
        },
        value: undefined,
        detail: runId,
        settle,
      };
    },
    () => undefined,
  );
}

export function emit<Value>(
  branch: Branch,
  topic: string | TopicType<Value>,
  value: Value,
  options: EventOptions & { readonly id?: string } = {},
): Promise<void> {
  const { host, settings } = branch;
  return perform(
    branch,
    (settle) => {
      const location = nextLocation(branch.scope, `emit ${topicName(topic)}`);
      const post = eventPost(
        topic,
        value,
        { ...options, id: options.id ?? postId(host, location) },
        host.now(),
        settings,
      );
      return {
        kind: "post",
        record: "emit",
        location,
        issuedAt: host.now(),
        post,
        value: undefined,
        detail: post.topic,
        settle,
      };
    },
    () => undefined,
  );
}

/** Returns the post of an event. Options of the call override those of the topic. */
export function eventPost<Value>(
  topic: string | TopicType<Value>,
  value: Value,
  options: EventOptions & { readonly id: string },
  at: number,
  settings: Pick<Branch["settings"], "codec" | "eventRetentionMs" | "pendingMax">,
): EventPost {
  const name = checkName(topicName(topic), "topic");
  const defined = typeof topic === "string" ? { schema: null, options: {} as EventOptions } : topic;
  const checked = defined.schema === null ? value : checkSchema(defined.schema, value, `event ${name}`);
  const expireAfter = options.expireAfter ?? defined.options.expireAfter;
  return {
    kind: "event",
    topic: name,
    id: options.id,
    value: settings.codec.encode(checked, `event ${name}`),
    at,
    expireAt: at + (expireAfter === undefined ? settings.eventRetentionMs : parseDuration(expireAfter, "expireAfter")),
    deliver: options.deliver ?? defined.options.deliver ?? "all",
    consume: options.consume ?? defined.options.consume ?? "one",
    pendingMax: settings.pendingMax,
  };
}
