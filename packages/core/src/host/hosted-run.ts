import type { RunSummary } from "../engine/run-handle.ts";
import { checkRunId } from "../model/names.ts";
import type { EmitOutcome, SendOutcome } from "../model/op.ts";
import { optionTable, readArgument, readOptions } from "../model/option-check.ts";
import type { Status } from "../model/run.ts";
import { systemClock } from "../runtime/clock.ts";
import type { KvDriver } from "../store/kv/kv-driver.ts";
import type { SendOptions } from "../workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "../workflow/messages.ts";
import { KV_DRIVER, NAMESPACE_KINDS, type NamespaceOptions, namespaceOf } from "./namespace.ts";

const OPTIONS = optionTable<NamespaceOptions>("hostedRun", NAMESPACE_KINDS);

/** A handle of a run in a host's storage. If `runWorkflow` is not executing the run, each call opens the namespace and closes it. */
export interface HostedRun<Output = unknown> {
  readonly id: string;
  /** Sends a message. If the run waits for it and is not being executed, the alarm is set, so the host executes the run. */
  message<Value>(message: string | MessageType<Value>, value: Value, options?: SendOptions): Promise<SendOutcome>;
  /** Emits an event in the run's namespace: to the run and to runs that it started. */
  emit<Value>(topic: string | TopicType<Value>, value: Value, options?: EventOptions): Promise<EmitOutcome>;
  /** Call it when the alarm fires and you have this handle. A run in execution checks for due work; otherwise the alarm is set to now. */
  wake(): Promise<void>;
  /** Returns false if the run had ended. Completed steps with rollbacks are rolled back when the run is executed again. */
  cancel(reason?: string): Promise<boolean>;
  /** Returns undefined unless the run is completed. */
  getOutput(): Promise<Output | undefined>;
  /** Returns null if the run does not exist. */
  getState(): Promise<Status | null>;
}

/** Returns a handle to query a run and to send to it, without executing it. */
export function hostedRun<Output = unknown>(id: string, driver: KvDriver, given?: NamespaceOptions): HostedRun<Output> {
  checkRunId(id);
  readArgument(KV_DRIVER, driver, "driver");
  const options = readOptions(OPTIONS, given);
  const namespace = namespaceOf(driver, id);
  const summary = (): Promise<RunSummary | null> => namespace.use((engine) => engine.get(id), options);
  return {
    id,
    message: (message, value, sending) => namespace.use((engine) => engine.send(id, message, value, sending), options),
    emit: (topic, value, emitting) => namespace.use((engine) => engine.emit(topic, value, emitting), options),
    cancel: (reason) => namespace.use((engine) => engine.cancel(id, reason), options),
    async wake() {
      if (namespace.isOpen) await namespace.use((engine) => engine.recover(), options);
      else await driver.setAlarm(id, (options.world?.clock ?? systemClock()).now());
    },
    async getOutput() {
      const run = await summary();
      return run?.status === "completed" ? (run.output as Output) : undefined;
    },
    getState: async () => (await summary())?.status ?? null,
  };
}
