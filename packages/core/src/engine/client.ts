import { optionTable, readOptions } from "../model/option-check.ts";
import type { WorkflowDeclaration } from "../workflow/ctx.ts";
import { ENGINE_KINDS, type EngineOptions } from "./config.ts";
import { createEngine, type Engine } from "./engine.ts";
import type { StartOptions } from "./op-builders.ts";

/** The engine options that apply without a worker. */
export type ClientOptions = Pick<
  EngineOptions,
  | "store"
  | "poll"
  | "storageRetryPolicy"
  | "storageTimeout"
  | "maxPendingEventsPerType"
  | "eventRetention"
  | "payloadBytesMax"
  | "codec"
  | "acceptCodec"
  | "log"
  | "world"
>;

const CLIENT_OPTIONS = optionTable<ClientOptions>("createClient", {
  store: ENGINE_KINDS.store,
  poll: ENGINE_KINDS.poll,
  storageRetryPolicy: ENGINE_KINDS.storageRetryPolicy,
  storageTimeout: ENGINE_KINDS.storageTimeout,
  maxPendingEventsPerType: ENGINE_KINDS.maxPendingEventsPerType,
  eventRetention: ENGINE_KINDS.eventRetention,
  payloadBytesMax: ENGINE_KINDS.payloadBytesMax,
  codec: ENGINE_KINDS.codec,
  acceptCodec: ENGINE_KINDS.acceptCodec,
  log: ENGINE_KINDS.log,
  world: ENGINE_KINDS.world,
});

/** Starts, reads and controls runs, and sends to them, from any process that can reach the store. Never executes a run. */
export interface Client
  extends Pick<
    Engine,
    | "start"
    | "run"
    | "get"
    | "list"
    | "send"
    | "emit"
    | "cancel"
    | "terminate"
    | "pause"
    | "resume"
    | "rewind"
    | "retry"
    | "fork"
    | "explain"
    | "delete"
    | "deadLetters"
    | "documents"
    | "restart"
  > {
  /** Closes the store. Pending `result()` calls reject with `ENGINE_STOPPED`. Runs continue on their workers. */
  close(): Promise<void>;
}

/**
 * Opens the store for a process without workers.
 *
 * ```ts
 * const client = await createClient({ store: postgresStore(url) });
 * const run = await client.start(declareWorkflow<Order, Receipt>("order"), { id: "o-1" });
 * const receipt = await run.result();
 * ```
 */
export async function createClient(options: ClientOptions): Promise<Client> {
  const engine = await createEngine({ ...readOptions(CLIENT_OPTIONS, options), workflows: [] });
  return {
    start: <Input, Output>(workflow: WorkflowDeclaration<Input, Output>, input?: Input, rest?: StartOptions) =>
      engine.start(workflow, input as Input, rest),
    run: engine.run.bind(engine) as Engine["run"],
    get: (runId) => engine.get(runId),
    list: (query) => engine.list(query),
    send: (runId, message, value, rest) => engine.send(runId, message, value, rest),
    emit: (topic, value, rest) => engine.emit(topic, value, rest),
    cancel: (runId, reason) => engine.cancel(runId, reason),
    terminate: (runId, reason) => engine.terminate(runId, reason),
    pause: (runId, options) => engine.pause(runId, options),
    resume: (runId) => engine.resume(runId),
    rewind: (runId, at, rest) => engine.rewind(runId, at, rest),
    retry: (runId, rest) => engine.retry(runId, rest),
    fork: (runId, at, rest) => engine.fork(runId, at, rest),
    explain: (runId) => engine.explain(runId),
    delete: (runId, rest) => engine.delete(runId, rest),
    deadLetters: engine.deadLetters,
    documents: engine.documents,
    restart: (runId, version, rest) => engine.restart(runId, version, rest),
    close: () => engine.shutdown(),
  };
}
