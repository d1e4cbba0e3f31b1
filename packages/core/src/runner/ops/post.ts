import { parseDuration } from "../../model/duration.ts";
import { LEFTOVER_POLICY } from "../../model/inbox.ts";
import { checkTarget } from "../../model/names.ts";
import { kinds, type OptionKinds, optionTable, readOptions } from "../../model/option-check.ts";
import { checkSchema } from "../../model/schema.ts";
import type { EventPost } from "../../model/transition.ts";
import type { SendOptions } from "../../workflow/ctx.ts";
import {
  EVENT_KINDS,
  type EventOptions,
  type MessageType,
  readMessage,
  readTopic,
  type TopicType,
} from "../../workflow/messages.ts";
import { postId } from "../program-posts.ts";
import { type Branch, locate, perform } from "./branch.ts";

/** The kinds of these options, for each table that has them. */
export const SEND_KINDS = {
  id: kinds.name,
  onTargetTerminated: kinds.oneOf("discard", "broadcast", "deadLetter"),
} as const satisfies OptionKinds<SendOptions>;
export const EMIT_KINDS = { ...EVENT_KINDS, id: kinds.name } as const satisfies OptionKinds<EmitOptions>;

const SEND_OPTIONS = optionTable<SendOptions>("send", SEND_KINDS);
const EMIT_OPTIONS = optionTable<EmitOptions>("emit", EMIT_KINDS);

type EmitOptions = EventOptions & { readonly id?: string };

export function send<Value>(
  branch: Branch,
  runId: string,
  message: string | MessageType<Value>,
  value: Value,
  options?: SendOptions,
): Promise<void> {
  const { host, settings } = branch;
  return perform(
    branch,
    (settle) => {
      const to = checkTarget(runId);
      const { message: name, schema } = readMessage(message);
      const { id, onTargetTerminated = LEFTOVER_POLICY } = readOptions(SEND_OPTIONS, options);
      const payload = settings.codec.encode(
        schema === null ? value : checkSchema(schema, value, `message ${name}`),
        `message ${name}`,
      );
      const location = locate(branch, `send ${name}`);
      return {
        kind: "post",
        record: "send",
        location,
        issuedAt: host.now(),
        post: {
          kind: "message",
          to,
          id: id ?? postId(host, location),
          name,
          value: payload,
          at: host.now(),
          onTargetTerminated,
          from: host.runId,
        },
        value: undefined,
        detail: to,
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
  options?: EmitOptions,
): Promise<void> {
  const { host, settings } = branch;
  return perform(
    branch,
    (settle) => {
      const type = readTopic(topic);
      const checked = readOptions(EMIT_OPTIONS, options);
      const location = locate(branch, `emit ${type.topic}`);
      const id = checked.id ?? postId(host, location);
      const post = eventPost(type, value, { ...checked, id }, host.now(), settings);
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

/** Returns the post of an event. Options of the call override those of the topic. Both are checked. */
export function eventPost<Value>(
  { topic: name, schema, options: defaults }: TopicType<Value>,
  value: Value,
  options: EventOptions & { readonly id: string },
  at: number,
  settings: Pick<Branch["settings"], "codec" | "eventRetentionMs" | "pendingMax">,
): EventPost {
  const checked = schema === null ? value : checkSchema(schema, value, `event ${name}`);
  const expireAfter = options.expireAfter ?? defaults.expireAfter;
  return {
    kind: "event",
    topic: name,
    id: options.id,
    value: settings.codec.encode(checked, `event ${name}`),
    at,
    expireAt: at + (expireAfter === undefined ? settings.eventRetentionMs : parseDuration(expireAfter, "expireAfter")),
    deliver: options.deliver ?? defaults.deliver ?? "all",
    consume: options.consume ?? defaults.consume ?? "one",
    pendingMax: settings.pendingMax,
  };
}
