import type { EngineConfig } from "./engine-config.ts";
import { checkName, checkTarget } from "./model/names.ts";
import type { Op } from "./model/op.ts";
import type { Codec } from "./model/payload.ts";
import { checkSchema } from "./model/schema.ts";
import { messageName } from "./runner/ops/listen.ts";
import { eventPost } from "./runner/ops/post.ts";
import type { SendOptions } from "./workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "./workflow/messages.ts";

/** What calls of the engine that post need to know. */
export type PostingConfig = EngineConfig & { readonly codecInUse: Codec };

export function sendOp<Value>(
  { store, world, codecInUse }: PostingConfig,
  runId: string,
  message: string | MessageType<Value>,
  value: Value,
  options: SendOptions,
): Extract<Op, { kind: "send" }> {
  const name = checkName(messageName(message), "message name");
  const schema = typeof message === "string" ? null : message.schema;
  const checked = schema === null ? value : checkSchema(schema, value, `message ${name}`);
  const at = store.now();
  return {
    kind: "send",
    post: {
      kind: "message",
      to: checkTarget(runId),
      id: options.id === undefined ? world.random.id(at) : checkName(options.id, "message id"),
      name,
      value: codecInUse.encode(checked, `message ${name}`),
      at,
      onTargetTerminated: options.onTargetTerminated ?? "discard",
      from: null,
    },
  };
}

export function emitOp<Value>(
  config: PostingConfig,
  topic: string | TopicType<Value>,
  value: Value,
  options: EventOptions & { readonly id?: string },
): Extract<Op, { kind: "emit" }> {
  const { store, world, codecInUse } = config;
  const at = store.now();
  const id = options.id === undefined ? world.random.id(at) : checkName(options.id, "event id");
  return { kind: "emit", post: eventPost(topic, value, { ...options, id }, at, { ...config, codec: codecInUse }) };
}
