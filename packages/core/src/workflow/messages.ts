import type { Duration } from "../model/duration.ts";
import { checkName } from "../model/names.ts";
import { kinds, type OptionKinds, openTable, optionTable, readArgument, readOptions } from "../model/option-check.ts";
import type { StandardSchema } from "../model/schema.ts";
import type { ConsumePolicy, DeliverPolicy } from "../model/transition.ts";

/** A message name with a type, for `ctx.listen` and `run.send`. */
export interface MessageType<Value> {
  readonly message: string;
  readonly schema: StandardSchema<unknown, Value> | null;
}

/** Defines a message. With a schema, sent values are checked. */
export function message<Value = unknown>(name: string, schema?: StandardSchema<unknown, Value>): MessageType<Value> {
  return { message: checkName(name, "message name"), schema: readSchema(schema) };
}

function readSchema<Value>(schema: StandardSchema<unknown, Value> | undefined): StandardSchema<unknown, Value> | null {
  return schema === undefined ? null : readArgument(kinds.schema, schema, "schema");
}

const MESSAGE_TYPE = kinds.options(
  openTable<MessageType<never>>("the message", {
    message: kinds.required(kinds.name),
    schema: kinds.required(kinds.nullable(kinds.schema)),
  }),
);

/** Checks the message of a call: its name, or its type. */
export function readMessage<Value>(message: string | MessageType<Value>): MessageType<Value> {
  if (typeof message !== "object" || message === null)
    return { message: checkName(message, "message name"), schema: null };
  return readArgument<MessageType<Value>>(MESSAGE_TYPE, message, "message");
}

export interface EventOptions {
  /** Runs that an event without a waiter is kept for. Default `all`: also runs started later. */
  readonly deliver?: DeliverPolicy;
  /** Runs that receive the event if several wait. Default `one`: the run that has waited longest. */
  readonly consume?: ConsumePolicy;
  /** How long an event without a waiter is kept. Default: the engine's `eventRetention`. */
  readonly expireAfter?: Duration;
}

/** The kinds of these options, for each table that has them. */
export const EVENT_KINDS = {
  deliver: kinds.oneOf("afterWait", "afterCreate", "all"),
  consume: kinds.oneOf("one", "all"),
  expireAfter: kinds.duration,
} as const satisfies OptionKinds<EventOptions>;

/** A topic with a type, for `ctx.awaitEvent` and `engine.emit`. */
export interface TopicType<Value> {
  readonly topic: string;
  readonly schema: StandardSchema<unknown, Value> | null;
  readonly options: EventOptions;
}

/** Defines a topic. With a schema, emitted values are checked. */
export function topic<Value = unknown>(
  name: string,
  options: EventOptions & { schema?: StandardSchema<unknown, Value> } = {},
): TopicType<Value> {
  const { schema, ...rest } = readOptions<typeof options>(TOPIC_OPTIONS, options);
  return { topic: checkName(name, "topic"), schema: schema ?? null, options: rest };
}

const TOPIC_OPTIONS = optionTable<EventOptions & { schema?: StandardSchema<unknown, never> }>("the topic", {
  ...EVENT_KINDS,
  schema: kinds.schema,
});

const TOPIC_TYPE = kinds.options(
  openTable<TopicType<never>>("the topic", {
    topic: kinds.required(kinds.name),
    schema: kinds.required(kinds.nullable(kinds.schema)),
    options: kinds.required(kinds.options(optionTable("the topic", EVENT_KINDS))),
  }),
);

/** Checks the topic of a call: its name, or its type. */
export function readTopic<Value>(topic: string | TopicType<Value>): TopicType<Value> {
  if (typeof topic !== "object" || topic === null)
    return { topic: checkName(topic, "topic"), schema: null, options: NO_OPTIONS };
  return readArgument<TopicType<Value>>(TOPIC_TYPE, topic, "topic");
}

const NO_OPTIONS: EventOptions = {};
