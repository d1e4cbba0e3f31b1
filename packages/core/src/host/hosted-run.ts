import type { RunSummary } from "../engine/run-handle.ts";
import { checkRunId } from "../model/names.ts";
import type { EmitOutcome, SendOutcome } from "../model/op.ts";
import type { Status } from "../model/run.ts";
import { systemClock } from "../runtime/clock.ts";
import type { KvDriver } from "../store/kv/kv-driver.ts";
import type { SendOptions } from "../workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "../workflow/messages.ts";
import { type NamespaceOptions, namespaceOf } from "./namespace.ts";

/** What can be asked of a run in a host's storage. Where nobody works on it, its namespace is opened for a moment. */
export interface HostedRun<Output = unknown> {
  readonly id: string;
  /** Sends it a message. If nobody works on the run and it waits for it, the alarm is set, and the host runs it. */
  message<Value>(message: string | MessageType<Value>, value: Value, options?: SendOptions): Promise<SendOutcome>;
  /** Emits an event in its namespace: to the run, and to those that it started. */
  emit<Value>(topic: string | TopicType<Value>, value: Value, options?: EventOptions): Promise<EmitOutcome>;
  /** Has it looked at now: for a host whose alarm has come while it has this handle. Where nobody works on it, sets its alarm. */
  wake(): Promise<void>;
  /** False: it had ended before. What it did is undone first, by whoever works on it then. */
  cancel(reason?: string): Promise<boolean>;
  /** Undefined until it is completed. */
  getOutput(): Promise<Output | undefined>;
  /** Null: there is no such run yet. */
  getState(): Promise<Status | null>;
}

/** A run in a host's storage, to be asked and told, and not to be run. */
export function hostedRun<Output = unknown>(
  id: string,
  driver: KvDriver,
  options: NamespaceOptions = {},
): HostedRun<Output> {
  const namespace = namespaceOf(driver, checkRunId(id));
  const summary = (): Promise<RunSummary | null> => namespace.ask((engine) => engine.get(id), options);
  return {
    id,
    message: (message, value, sending) => namespace.ask((engine) => engine.send(id, message, value, sending), options),
    emit: (topic, value, emitting) => namespace.ask((engine) => engine.emit(topic, value, emitting), options),
    cancel: (reason) => namespace.ask((engine) => engine.cancel(id, reason), options),
    async wake() {
      if (namespace.isOpen) await namespace.ask((engine) => engine.recover(), options);
      else await driver.setAlarm(id, (options.world?.clock ?? systemClock()).now());
    },
    async getOutput() {
      const run = await summary();
      return run?.status === "completed" ? (run.output as Output) : undefined;
    },
    getState: async () => (await summary())?.status ?? null,
  };
}
