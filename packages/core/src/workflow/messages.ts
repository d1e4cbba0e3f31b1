import type { Duration } from "../model/duration.ts";
import { checkName } from "../model/names.ts";
import type { StandardSchema } from "../model/schema.ts";
import type { ConsumePolicy, DeliverPolicy } from "../model/transition.ts";

/** A message name with a type, for `ctx.listen` and `run.send`. */
export interface MessageType<Value> {
  readonly message: string;
  readonly schema: StandardSchema<unknown, Value> | null;
}

/** Defines a message. With a schema, sent values are checked. */
export function message<Value = unknown>(name: string, schema?: StandardSchema<unknown, Value>): MessageType<Value> {
  return { message: checkName(name, "message name"), schema: schema ?? null };
}

export interface EventOptions {
  /** Runs that an event without a waiter is kept for. Default `all`: also runs started later. */
  readonly deliver?: DeliverPolicy;
  /** Runs that receive the event if several wait. Default `one`: the run that has waited longest. */
  readonly consume?: ConsumePolicy;
  /** How long an event without a waiter is kept. Default: the engine's `eventRetention`. */
  readonly expireAfter?: Duration;
}

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
  const { schema, ...rest } = options;
  return { topic: checkName(name, "topic"), schema: schema ?? null, options: rest };
}
