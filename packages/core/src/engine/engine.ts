import { PawlError } from "../model/errors.ts";
import { checkTarget, endedGenerationId } from "../model/names.ts";
import type { EmitOutcome, Op, OutcomeOf, SendOutcome } from "../model/op.ts";
import { kinds, type OptionKind, optionTable, readArgument, readOptions } from "../model/option-check.ts";
import type { Codec } from "../model/payload.ts";
import { read } from "../model/payload-values.ts";
import type { NewRun } from "../model/run.ts";
import type { EngineTx } from "../model/tx.ts";
import type { PauseOptions, RewindOptions, Rewound } from "../operator/action.ts";
import { type ControlParts, Controls } from "../operator/controls.ts";
import { type DeleteOptions, deleteRun } from "../operator/delete-run.ts";
import { type Explanation, explainRun } from "../operator/explain.ts";
import type { ForkOptions } from "../operator/fork.ts";
import { History } from "../operator/history.ts";
import type { LocationMap, MigrateOptions, Migration } from "../operator/migrate.ts";
import { hasFirstInput, startNextGeneration } from "../operator/next-generation.ts";
import { type RecoveryReport, recoverNow } from "../operator/recover.ts";
import type { RestartOptions } from "../operator/restart.ts";
import type { Clock } from "../runtime/clock.ts";
import { nodeProcess } from "../runtime/platform.ts";
import { callStore, openStore } from "../store/open-store.ts";
import type { Page, StoreWorld } from "../store/store.ts";
import type { PendingStart } from "../worker/start-queue.ts";
import { Worker } from "../worker/worker.ts";
import type { AnyWorkflow, SendOptions, WorkflowDeclaration } from "../workflow/ctx.ts";
import type { MessageType, TopicType } from "../workflow/messages.ts";
import { checkDeclaration, checkWorkflow } from "../workflow/workflow.ts";
import { checkNode } from "./check-node.ts";
import { CodeErrorResumes } from "./code-error-resumes.ts";
import { checkCodec } from "./codec-check.ts";
import { addWorkflow, codecOf, type EngineConfig, type EngineOptions, resolveConfig } from "./config.ts";
import { DeadLetters } from "./dead-letters.ts";
import { Documents } from "./documents.ts";
import { type EngineEventKind, EVENT_NAMES, EventHub, type EventOf, EventPublisher } from "./events.ts";
import { type EngineMetrics, FailureLog } from "./failure-log.ts";
import {
  checkConflict,
  EMIT_OPTIONS,
  type EmitOptions,
  emitOp,
  newRun,
  type OnConflict,
  type PostingConfig,
  SEND_OPTIONS,
  START_OPTIONS,
  type StartOptions,
  sendOp,
} from "./op-builders.ts";
import { type CallerOp, opKind } from "./op-check.ts";
import { pruneAll } from "./prune-all.ts";
import type { PruneOptions, PruneReport } from "./retention.ts";
import type { RunHandle, RunSummary } from "./run-handle.ts";
import type { RunQuery } from "./run-query.ts";
import { Runs, runNotFound } from "./runs.ts";
import { type EnlistedOp, submitWithin, type WithinTx } from "./within-transaction.ts";

// When the module is loaded: an unsupported Node would fail later, in the middle of a run.
checkNode(nodeProcess?.versions);

interface ShutdownOptions {
  readonly drainMs?: number;
}

export interface RunOptions {
  /** An ended generation of the run, which `start` with `onConflict: "restart"` has replaced. Default: the latest one. */
  readonly generation?: number;
}

const RUN_OPTIONS = optionTable<RunOptions>("run", { generation: kinds.integer(0) });
const SHUTDOWN_OPTIONS = optionTable<ShutdownOptions>("shutdown", {
  drainMs: kinds.number(0, Number.POSITIVE_INFINITY),
});
const EVENT_NAME = kinds.oneOf(...EVENT_NAMES);
const OPS_MAX = 100_000;

/** Starts, reads and controls runs, and sends to them. With workflows it is also a worker and executes runs. */
export class Engine {
  readonly deadLetters: DeadLetters;
  readonly documents: Documents;
  readonly #config: EngineConfig;
  readonly #codec: Codec;
  readonly #posting: PostingConfig;
  readonly #hub: EventHub;
  readonly #failures: FailureLog;
  readonly #publisher: EventPublisher;
  readonly #worker: Worker;
  readonly #runs: Runs;
  readonly #parts: ControlParts;
  readonly #controls: Controls;
  readonly #history: History;
  readonly #codeErrorResumes: CodeErrorResumes;
  readonly #opKind: OptionKind<CallerOp>;
  #opened: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;

  /** Use `createEngine`. */
  constructor(config: EngineConfig) {
    const { log, store } = config;
    this.#config = config;
    this.#codec = codecOf(config);
    this.#posting = { ...config, codecInUse: this.#codec };
    this.#hub = new EventHub(log);
    this.#failures = new FailureLog(log, () => config.world.clock.now());
    this.#publisher = new EventPublisher({
      hub: this.#hub,
      codec: this.#codec,
      log,
      failures: this.#failures,
      onEnd: (runId, end) => this.#runs.ended(runId, end),
    });
    this.#worker = new Worker(config, this.#codec, this.#publisher);
    this.#runs = new Runs({
      store,
      codec: this.#codec,
      clock: this.#worker.clock,
      pollMs: config.pollMs,
      hub: this.#hub,
      isLocal: (runId) => this.#worker.isLocal(runId),
      withRetry: (call) => this.#worker.withRetry(call),
      send: (...args) => this.send(...args),
      cancel: (...args) => this.cancel(...args),
      terminate: (...args) => this.terminate(...args),
      pause: (...args) => this.pause(...args),
      resume: (...args) => this.resume(...args),
      rewind: (...args) => this.rewind(...args),
      retry: (...args) => this.retry(...args),
    });
    const made = { config, codec: this.#codec, publisher: this.#publisher, worker: this.#worker, runs: this.#runs };
    const parts: ControlParts = { ...made, submit: (op) => this.#submitOp(op) };
    this.#parts = parts;
    this.#controls = new Controls(parts);
    this.#history = new History(parts);
    this.#codeErrorResumes = new CodeErrorResumes(parts);
    this.deadLetters = new DeadLetters(parts);
    this.documents = new Documents(parts);
    this.#opKind = opKind(this.#codec, config.payloadBytesMax);
  }

  /** The id of this engine as a worker. */
  get workerId(): string {
    return this.#worker.id;
  }

  /** Starts the worker. `createEngine` calls this. */
  open(): Promise<void> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<void> {
    const { codec: hook, acceptCodec: accept } = this.#config;
    // Before the worker starts: a worker whose codec does not match must not claim a run.
    await checkCodec({ store: this.#config.store, withRetry: (call) => this.#worker.withRetry(call), hook, accept });
    await this.#worker.start();
    this.#runs.watch();
    for (const workflow of this.#config.workflows.values()) this.#codeErrorResumes.add(workflow);
  }

  /** Adds a workflow to this worker. Changes nothing if its name and version are already registered. */
  async register(workflow: AnyWorkflow): Promise<void> {
    if (this.#stopped !== null) throw new PawlError("ENGINE_STOPPED", "the engine is shut down; nothing was done");
    const checked = checkWorkflow(workflow);
    const isNew = addWorkflow(this.#config.workflows, checked);
    await callStore(() => this.#worker.register(checked));
    if (isNew) this.#codeErrorResumes.add(checked);
  }

  /** Starts a run. Resolves when the run is durable. A workflow whose input may be undefined can be started without one. */
  start<Input, Output>(
    workflow: WorkflowDeclaration<Input, Output>,
    ...none: undefined extends Input ? [] : [input: Input]
  ): Promise<RunHandle<Output>>;
  start<Input, Output>(
    workflow: WorkflowDeclaration<Input, Output>,
    input: Input,
    options?: StartOptions,
  ): Promise<RunHandle<Output>>;
  async start<Output>(
    workflow: WorkflowDeclaration<unknown, Output>,
    input?: unknown,
    given?: StartOptions,
  ): Promise<RunHandle<Output>> {
    const tx = txOf(given);
    if (tx !== undefined) return await this.#startWithin(workflow, input, given, tx);
    const options = readOptions(START_OPTIONS, given);
    const declared = checkDeclaration(workflow);
    let slot = this.#worker.reserveSlot(declared);
    let pendingStart: PendingStart | null = null;
    try {
      const run = newRun(this.#config, this.#codec, declared, input, options, slot && this.#worker.id);
      if (run.owner !== null && slot !== null) pendingStart = this.#worker.pendingStarts.add(run, slot);
      const outcome = await this.#submitStart(run);
      if (outcome.kind === "exists") {
        await this.#startExisting(run, options.onConflict ?? "use");
      } else {
        this.#publisher.plain("run.started", run);
        if (pendingStart === null) this.#worker.requestPoll();
        else this.#worker.enqueueStart(pendingStart);
        if (pendingStart !== null) slot = pendingStart = null;
      }
      return this.#runs.handle<Output>(run.id);
    } finally {
      slot?.release();
      if (pendingStart !== null) this.#worker.pendingStarts.end(pendingStart);
    }
  }

  async #submitStart(run: NewRun): Promise<OutcomeOf<Extract<Op, { kind: "start" }>>> {
    if (run.owner === null) this.#runs.starting(run);
    let isStarted = false;
    try {
      const outcome = await this.#submitOp({ kind: "start", run } as const);
      isStarted = outcome.kind !== "exists";
      return outcome;
    } finally {
      if (!isStarted) this.#runs.startFailed(run.id);
    }
  }

  /** The run exists when the caller's transaction commits. The store then notifies the workers. */
  async #startWithin<Input, Output>(
    workflow: WorkflowDeclaration<Input, Output>,
    input: Input,
    given: StartOptions | undefined,
    tx: EngineTx,
  ): Promise<RunHandle<Output>> {
    const built: { run?: NewRun; onConflict?: StartOptions["onConflict"] } = {};
    const outcome = await this.#submit(tx, () => {
      const options = readOptions(START_OPTIONS, given);
      built.onConflict = options.onConflict;
      if (options.onConflict === "restart")
        throw new PawlError(
          "OPTION_INVALID",
          'onConflict "restart" cannot be used with tx; start the run after the commit',
        );
      built.run = newRun(this.#config, this.#codec, checkDeclaration(workflow), input, options, null);
      return { kind: "start", run: built.run } as const;
    });
    const { run, onConflict = "use" } = built;
    if (run === undefined) throw new Error("submitted a start without building its run");
    if (outcome.kind === "exists" && (await this.#worker.reader.get(run.id)) === null) {
      throw new PawlError("RUN_EXISTS", `run ${run.id} was already started in this transaction; use another id`);
    }
    if (outcome.kind === "exists") await this.#startExisting(run, onConflict);
    return this.#runs.handle<Output>(run.id);
  }

  /** Returns a handle without checking that the run exists. A workflow gives the handle the type of its output. */
  run<Output = unknown>(runId: string, options?: RunOptions): RunHandle<Output>;
  run<Input, Output>(
    workflow: WorkflowDeclaration<Input, Output>,
    runId: string,
    options?: RunOptions,
  ): RunHandle<Output>;
  run(first: string | WorkflowDeclaration, second?: string | RunOptions, third?: RunOptions): RunHandle {
    const isTyped = typeof first === "object" && first !== null;
    if (isTyped) checkDeclaration(first);
    const id = checkTarget(isTyped ? second : first);
    const { generation } = readOptions(RUN_OPTIONS, isTyped ? third : second);
    return this.#runs.handle(generation === undefined ? id : endedGenerationId(id, generation));
  }

  /** Returns null if the run does not exist. */
  async get(runId: string): Promise<RunSummary | null> {
    return await this.#runs.get(checkTarget(runId));
  }

  /** Lists runs, newest first, page by page. A page may have fewer runs than `limit` although its cursor is not null. */
  async list(query?: RunQuery): Promise<Page<RunSummary>> {
    return await this.#runs.list(query);
  }

  send<Value>(
    runId: string,
    message: string | MessageType<Value>,
    value: Value,
    options?: SendOptions & WithinTx,
  ): Promise<SendOutcome> {
    return this.#submit(txOf(options), () =>
      sendOp(this.#posting, runId, message, value, readOptions(SEND_OPTIONS, options)),
    );
  }

  async emit<Value>(
    topic: string | TopicType<Value>,
    value: Value,
    options?: EmitOptions & WithinTx,
  ): Promise<EmitOutcome> {
    return await this.#submit(txOf(options), () =>
      emitOp(this.#posting, topic, value, readOptions(EMIT_OPTIONS, options)),
    );
  }

  /**
   * Cancels a run, and resolves when it is stopped. Running step bodies have the grace to end; a run with rollbacks is compensated. False if
   * the run ended before, or was compensating already.
   */
  async cancel(runId: string, reason?: string): Promise<boolean> {
    return await this.#controls.cancel(runId, reason);
  }

  /**
   * Ends a run as cancelled at once: nothing is rolled back, not even the rest of a compensation. Its attached children are cancelled, and
   * roll back. False if the run had ended.
   */
  async terminate(runId: string, reason?: string): Promise<boolean> {
    return await this.#controls.terminate(runId, reason);
  }

  /** Stops a run until it is resumed, and resolves when it is stopped. Running step bodies end first, unless `now` is set. */
  async pause(runId: string, options?: string | PauseOptions): Promise<void> {
    await this.#controls.pause(runId, options);
  }

  /** Resumes a paused run. */
  async resume(runId: string): Promise<void> {
    await this.#controls.resume(runId);
  }

  /** Explains the state of a run: its open waits, the reason it does not progress, its owner, and when it is due. */
  async explain(runId: string): Promise<Explanation> {
    const id = checkTarget(runId);
    const explanation = await this.#worker.withRetry(() => explainRun(this.#config.store, this.#codec, id));
    if (explanation === null) throw runNotFound(id);
    return explanation;
  }

  /**
   * Drops the record at a location or seq and all later records. The run, open or ended, continues from there. Inside a loop it
   * continues from the start of the iteration. 0 is the start of the run.
   */
  async rewind(runId: string, at: string | number, options?: RewindOptions): Promise<Rewound> {
    return await this.#history.rewind(runId, at, options);
  }

  /** Continues a failed run from the record that made it fail. */
  async retry(runId: string, options?: RewindOptions): Promise<Rewound> {
    return await this.#history.retry(runId, options);
  }

  /** Starts a run with a copy of another run's journal, up to a location or seq. Null copies all of it. Copied steps do not run again. */
  async fork<Output = unknown>(
    runId: string,
    at: string | number | null,
    options?: ForkOptions,
  ): Promise<RunHandle<Output>> {
    return await this.#history.fork<Output>(runId, at, options);
  }

  /**
   * Moves an open run to another version of its workflow. `map` gives the new locations of records, or null to drop them. The
   * journal is first replayed against that version without effects. A run that could not continue stays unchanged.
   */
  async migrate(runId: string, version: number, map?: LocationMap, options?: MigrateOptions): Promise<Migration> {
    return await this.#history.migrate(runId, version, map, options);
  }

  /** Restarts an open run in a version of its workflow, with an input that `plan` computes from the run. */
  async restart<Result>(runId: string, version: number, options: RestartOptions<Result>): Promise<Result> {
    return await this.#history.restart(runId, version, options);
  }

  /** Frees runs of expired workers and claims due runs now. Workers also do this by themselves. Returns the counts. */
  async recover(): Promise<RecoveryReport> {
    return await recoverNow(this.#worker);
  }

  /** Deletes runs and dead letters whose retention has passed, now. Workers also do this by themselves. Returns the counts. */
  async prune(options?: PruneOptions): Promise<PruneReport> {
    return await pruneAll(this.#config, options, (call) => this.#worker.withRetry(call));
  }

  /** Deletes an ended run with its journal, inbox and documents. Dead letters and events stay. */
  async delete(runId: string, options?: DeleteOptions): Promise<void> {
    const { store } = this.#config;
    await deleteRun({ store, withRetry: (call) => this.#worker.withRetry(call) }, runId, options);
  }

  /** What this engine has counted since it was created. */
  metrics(): EngineMetrics {
    return this.#failures.metrics;
  }

  /** Calls `listener` for each event of this kind. The returned function removes the listener. */
  on<Kind extends EngineEventKind>(event: Kind, listener: (event: EventOf<Kind>) => void): () => void {
    readArgument(EVENT_NAME, event, "event");
    return this.#hub.on(event, readArgument(kinds.callback, listener, "listener"));
  }

  /** Submits an op as data. */
  async submit<O extends CallerOp>(op: O): Promise<OutcomeOf<O>> {
    return await this.#submitOp(readArgument(this.#opKind, op, "op") as O);
  }

  /** Submits several ops at once. The outcomes have the order of the ops. One invalid op rejects all of them. */
  async submitBatch<const Ops extends readonly CallerOp[]>(ops: Ops): Promise<{ [I in keyof Ops]: OutcomeOf<Ops[I]> }> {
    if (this.#stopped !== null) throw new PawlError("ENGINE_STOPPED", "the engine is shut down; nothing was done");
    const checked = readArgument(kinds.list(this.#opKind, { max: OPS_MAX }), ops, "ops");
    return await this.#worker.coordinator.submitBatch(checked as Ops);
  }

  /** Stops claiming, waits at most `drainMs` for working runs, releases the rest, and closes the store. Default 10 s. */
  async shutdown(options?: ShutdownOptions): Promise<void> {
    const { drainMs = 10_000 } = readOptions(SHUTDOWN_OPTIONS, options);
    this.#stopped ??= this.#stop(drainMs);
    await this.#stopped;
  }

  /** Submits a checked op. */
  #submitOp<O extends Op>(op: O): Promise<OutcomeOf<O>> {
    if (this.#stopped === null) return this.#worker.coordinator.submit(op);
    return Promise.reject(new PawlError("ENGINE_STOPPED", `the engine is shut down; ${op.kind} was not done`));
  }

  /** Submits an op by itself, or inside the caller's transaction. */
  #submit<O extends EnlistedOp>(tx: EngineTx | undefined, build: () => O): Promise<OutcomeOf<O>> {
    try {
      if (tx === undefined) return this.#submitOp(build());
      if (this.#stopped !== null) throw new PawlError("ENGINE_STOPPED", "the engine is shut down; nothing was done");
      return submitWithin(this.#config, tx, build);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #stop(drainMs: number): Promise<void> {
    this.#codeErrorResumes.close();
    await this.#worker.stop(drainMs);
    const message = "the engine was shut down before the run ended; the run continues on the next worker";
    this.#runs.close(new PawlError("ENGINE_STOPPED", message));
    await this.#config.store.close();
  }

  /** Handles the start of a run whose id exists. */
  async #startExisting(requested: NewRun, onConflict: OnConflict): Promise<void> {
    const { reader } = this.#worker;
    const next = onConflict === "restart" ? await startNextGeneration(this.#parts, requested) : null;
    if (next?.kind !== "started") {
      const run = next === null ? await reader.get(requested.id) : next.run;
      if (run === null) throw runNotFound(requested.id);
      checkConflict(this.#codec, run, requested, { onConflict, isFirst: await hasFirstInput(reader, run) });
      return;
    }
    this.#publisher.plain("run.started", requested);
    this.#worker.requestPoll();
  }
}

/** Opens the store and starts the worker. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const config = resolveConfig(options);
  await openStore(config.store, storeWorld(config.world.clock));
  const engine = new Engine(config);
  try {
    await callStore(() => engine.open());
  } catch (error) {
    // The caller gets no engine to shut down: it would keep claiming and keep the store open.
    await engine.shutdown({ drainMs: 0 });
    throw error;
  }
  return engine;
}

/** The transaction of a call, also if its other options are invalid: their error rolls the transaction back. */
function txOf(options: WithinTx | undefined): EngineTx | undefined {
  return options === undefined ? undefined : (read(options, "tx") as EngineTx | undefined);
}

function storeWorld(clock: Clock): StoreWorld {
  return {
    now: () => clock.now(),
    every(ms, callback) {
      let cancel: (() => void) | null = null;
      const next = (): void => {
        cancel = clock.wakeAt(clock.now() + ms, () => {
          next();
          callback();
        });
      };
      next();
      return () => cancel?.();
    },
  };
}
