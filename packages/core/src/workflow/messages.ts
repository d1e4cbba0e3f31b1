import type { Duration } from "../model/duration.ts";
import { checkName } from "../model/names.ts";
import type { StandardSchema } from "../model/schema.ts";
import type { ConsumePolicy, DeliverPolicy } from "../model/transition.ts";

/** A message of known type: `ctx.listen` and `run.send` infer from it. */
export interface MessageType<Value> {
  readonly message: string;
  readonly schema: StandardSchema<unknown, Value> | null;
}

/** Defines a message. With a schema, what is sent is checked. */
export function message<Value = unknown>(name: string, schema?: StandardSchema<unknown, Value>): MessageType<Value> {
  return { message: checkName(name, "message name"), schema: schema ?? null };
}

export interface EventOptions {
  /** Whom an event that nobody waits for is kept for. Default `all`: for runs started later too. */
  readonly deliver?: DeliverPolicy;
  /** Who gets it when several wait. Default `one`: the one that waits longest. */
  readonly consume?: ConsumePolicy;
  /** How long it is kept. Default: the engine's `eventRetention`. */
  readonly expireAfter?: Duration;
}

/** A topic of known type: `ctx.awaitEvent` and `engine.emit` infer from it. */
export interface TopicType<Value> {
  readonly topic: string;
  readonly schema: StandardSchema<unknown, Value> | null;
  readonly options: EventOptions;
}

/** Defines a topic. With a schema, what is emitted is checked. */
export function topic<Value = unknown>(
  name: string,
  options: EventOptions & { schema?: StandardSchema<unknown, Value> } = {},
): TopicType<Value> {
  const { schema, ...rest } = options;
  return { topic: checkName(name, "topic"), schema: schema ?? null, options: rest };
}
