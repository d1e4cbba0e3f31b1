import { PawlError } from "../model/errors.ts";
import { checkTarget } from "../model/names.ts";
import type { EmitOutcome, Op, OutcomeOf, SendOutcome } from "../model/op.ts";
import type { Codec } from "../model/payload.ts";
import type { NewRun } from "../model/run.ts";
import type { EngineTx } from "../model/tx.ts";
import type { RewindOptions, Rewound } from "../operator/action.ts";
import { type ControlParts, Controls } from "../operator/controls.ts";
import { type Explanation, explainRun } from "../operator/explain.ts";
import type { ForkOptions } from "../operator/fork.ts";
import { History } from "../operator/history.ts";
import type { LocationMap, MigrateOptions, Migration } from "../operator/migrate.ts";
import { type RecoveryReport, recoverNow } from "../operator/recover.ts";
import type { RestartOptions } from "../operator/restart.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ListQuery, Page, StoreWorld } from "../store/store.ts";
import type { PendingStart } from "../worker/start-queue.ts";
import { Worker } from "../worker/worker.ts";
import type { AnyWorkflow, SendOptions, WorkflowDeclaration } from "../workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "../workflow/messages.ts";
import { checkWorkflow } from "../workflow/workflow.ts";
import { addWorkflow, codecOf, type EngineConfig, type EngineOptions, resolveConfig } from "./config.ts";
import { DeadLetters } from "./dead-letters.ts";
import { Documents } from "./documents.ts";
import { type EngineEventKind, EventHub, type EventOf, EventPublisher } from "./events.ts";
import { checkConflict, emitOp, newRun, type PostingConfig, type StartOptions, sendOp } from "./op-builders.ts";
import { pruneAll } from "./prune-all.ts";
import type { PruneOptions, PruneReport } from "./retention.ts";
import type { RunHandle, RunSummary } from "./run-handle.ts";
import { Runs, runNotFound } from "./runs.ts";
import { type EnlistedOp, submitWithin, type WithinTx } from "./within-transaction.ts";

/** Starts, sends, reads and controls runs; and works on them, if it was given workflows. */
export class Engine {
  readonly deadLetters: DeadLetters;
  readonly documents: Documents;
  readonly #config: EngineConfig;
  readonly #codec: Codec;
  readonly #posting: PostingConfig;
  readonly #hub: EventHub;
  readonly #news: EventPublisher;
  readonly #worker: Worker;
  readonly #runs: Runs;
  readonly #controls: Controls;
  readonly #history: History;
  #stopped: Promise<void> | null = null;

  /** Use `createEngine`. */
  constructor(config: EngineConfig) {
    const { log, store } = config;
    this.#config = config;
    this.#codec = codecOf(config);
    this.#posting = { ...config, codecInUse: this.#codec };
    this.#hub = new EventHub(log);
    this.#news = new EventPublisher(this.#hub, this.#codec, log, (runId, end) => this.#runs.ended(runId, end));
    this.#worker = new Worker(config, this.#codec, this.#news);
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
      pause: (...args) => this.pause(...args),
      resume: (...args) => this.resume(...args),
      rewind: (...args) => this.rewind(...args),
      retry: (...args) => this.retry(...args),
    });
    const made = { config, codec: this.#codec, news: this.#news, worker: this.#worker, runs: this.#runs };
    const parts: ControlParts = { ...made, submit: (op) => this.submit(op) };
    this.#controls = new Controls(parts);
    this.#history = new History(parts);
    this.deadLetters = new DeadLetters(store.reader, this.#codec, config, (op) => this.submit(op));
    this.documents = new Documents(parts);
  }

  /** The id of this engine as a worker. */
  get workerId(): string {
    return this.#worker.id;
  }

  /** Begins to work; `createEngine` does it. */
  async open(): Promise<void> {
    await this.#worker.start();
    this.#runs.watch();
  }

  /** Works on runs of this workflow too, from here on; a name and version that it knows keeps its code. */
  async register(workflow: AnyWorkflow): Promise<void> {
    if (this.#stopped !== null) throw new PawlError("ENGINE_STOPPED", "the engine is shut down; nothing was done");
    if (addWorkflow(this.#config.workflows, workflow)) await this.#worker.register(workflow);
  }

  /** Starts a run. Resolves when the run is durable. */
  async start<Input, Output>(
    workflow: WorkflowDeclaration<Input, Output>,
    input: Input,
    options: StartOptions = {},
  ): Promise<RunHandle<Output>> {
    if (options.tx !== undefined) return await this.#startWithin(workflow, input, options);
    let slot = this.#worker.reserveSlot(checkWorkflow(workflow));
    let beginning: PendingStart | null = null;
    try {
      const run = newRun(this.#config, this.#codec, workflow, input, options, slot && this.#worker.id);
      if (run.owner !== null && slot !== null) beginning = this.#worker.pendingStarts.add(run, slot);
      const outcome = await this.submit({ kind: "start", run });
      if (outcome.kind === "exists") {
        await this.#checkConflict(run, options.onConflict ?? "use");
      } else {
        this.#news.plain("run.started", run);
        if (beginning === null) this.#worker.requestPoll();
        else this.#worker.enqueueStart(beginning);
        if (beginning !== null) slot = beginning = null;
      }
      return this.#runs.handle<Output>(run.id);
    } finally {
      slot?.release();
      if (beginning !== null) this.#worker.pendingStarts.end(beginning);
    }
  }

  /** The run is there when the caller's transaction commits; then whoever works on it hears of it. */
  async #startWithin<Input, Output>(
    workflow: WorkflowDeclaration<Input, Output>,
    input: Input,
    options: StartOptions,
  ): Promise<RunHandle<Output>> {
    const built: { run?: NewRun } = {};
    const outcome = await this.#submit(options.tx, () => {
      built.run = newRun(this.#config, this.#codec, checkWorkflow(workflow), input, options, null);
      return { kind: "start", run: built.run } as const;
    });
    const { run } = built;
    if (run === undefined) throw new Error("a start without a run");
    if (outcome.kind === "exists" && (await this.#config.store.reader.get(run.id)) === null) {
      throw new PawlError("RUN_EXISTS", `run ${run.id} was started in this very transaction; nothing else was started`);
    }
    if (outcome.kind === "exists") await this.#checkConflict(run, options.onConflict ?? "use");
    return this.#runs.handle<Output>(run.id);
  }

  /** A handle to a run, whether it exists or not; `status()` tells. */
  run<Output = unknown>(runId: string): RunHandle<Output> {
    return this.#runs.handle<Output>(checkTarget(runId));
  }

  /** The run as its row says; null if there is none. */
  async get(runId: string): Promise<RunSummary | null> {
    return await this.#runs.get(checkTarget(runId));
  }

  /** Runs, newest first, a page at a time. */
  async list(query: Partial<ListQuery> = {}): Promise<Page<RunSummary>> {
    return await this.#runs.list(query);
  }

  send<Value>(
    runId: string,
    message: string | MessageType<Value>,
    value: Value,
    options: SendOptions & WithinTx = {},
  ): Promise<SendOutcome> {
    return this.#submit(options.tx, () => sendOp(this.#posting, runId, message, value, options));
  }

  async emit<Value>(
    topic: string | TopicType<Value>,
    value: Value,
    options: EventOptions & WithinTx & { readonly id?: string } = {},
  ): Promise<EmitOutcome> {
    const { tx, ...rest } = options;
    return await this.#submit(tx, () => emitOp(this.#posting, topic, value, rest));
  }

  /** Cancels a run; one that has something to undo does that first. False: it had ended before, or undoes what it did already. */
  async cancel(runId: string, reason?: string): Promise<boolean> {
    return await this.#controls.cancel(runId, reason);
  }

  /** Stops a run where it is, until it is resumed. A step body that is under way is aborted, and runs again then. */
  async pause(runId: string, reason?: string): Promise<void> {
    await this.#controls.pause(runId, reason);
  }

  /** Lets a paused run go on. */
  async resume(runId: string): Promise<void> {
    await this.#controls.resume(runId);
  }

  /** Why a run is where it is: what it waits for and since when, what keeps it, who owns it, when it is due. */
  async explain(runId: string): Promise<Explanation> {
    const id = checkTarget(runId);
    const told = await this.#worker.withRetry(() => explainRun(this.#config.store, this.#codec, id));
    if (told === null) throw runNotFound(id);
    return told;
  }

  /**
   * Drops the record at a location, or with a seq, and all later ones, and lets the run go on from there, ended or not. In a
   * loop that means the beginning of the round; 0 is the beginning of the run.
   */
  async rewind(runId: string, at: string | number, options: RewindOptions = {}): Promise<Rewound> {
    return await this.#history.rewind(runId, at, options);
  }

  /** Lets a failed run go on from what made it fail. */
  async retry(runId: string, options: RewindOptions = {}): Promise<Rewound> {
    return await this.#history.retry(runId, options);
  }

  /** Starts a run with the history of another up to a place in it, or with all of it: what was done is not done again. */
  async fork<Output = unknown>(
    runId: string,
    at: string | number | null,
    options: ForkOptions = {},
  ): Promise<RunHandle<Output>> {
    return await this.#history.fork<Output>(runId, at, options);
  }

  /**
   * Moves an open run to another version of its workflow. `map` says where its records lie in that code, or that they are not
   * needed there. The journal is tried on the code first: a run that would not go on stays as it is.
   */
  async migrate(
    runId: string,
    version: number,
    map: LocationMap = {},
    options: MigrateOptions = {},
  ): Promise<Migration> {
    return await this.#history.migrate(runId, version, map, options);
  }

  /** Lets an open run begin again in a version of its workflow, with an input that `plan` makes of what the run is. */
  async restart<Result>(runId: string, version: number, options: RestartOptions<Result>): Promise<Result> {
    return await this.#history.restart(runId, version, options);
  }

  /** Frees runs of dead workers and claims what there is. It happens by itself; this does it now, and counts. */
  async recover(): Promise<RecoveryReport> {
    return await recoverNow(this.#worker, this.#config.store.reader);
  }

  /** Removes runs and dead letters that are older than they are kept. Workers do it by themselves; this does it now, and counts. */
  async prune(options: PruneOptions = {}): Promise<PruneReport> {
    return await pruneAll(this.#config, options, (call) => this.#worker.withRetry(call));
  }

  /** Calls back at each such event; the returned function ends it. */
  on<Kind extends EngineEventKind>(kind: Kind, listener: (event: EventOf<Kind>) => void): () => void {
    return this.#hub.on(kind, listener);
  }

  /** The layer below: an op as data. */
  submit<O extends Op>(op: O): Promise<OutcomeOf<O>> {
    if (this.#stopped === null) return this.#worker.coordinator.submit(op);
    return Promise.reject(new PawlError("ENGINE_STOPPED", `the engine is shut down; ${op.kind} was not done`));
  }

  /** Several ops at once; the outcomes stand at the places of their ops. */
  async submitBatch<const Ops extends readonly Op[]>(ops: Ops): Promise<{ [I in keyof Ops]: OutcomeOf<Ops[I]> }> {
    if (this.#stopped !== null) throw new PawlError("ENGINE_STOPPED", "the engine is shut down; nothing was done");
    return await this.#worker.coordinator.submitBatch(ops);
  }

  /** Stops claiming, lets work end until `drainMs` is over, gives the rest back, and closes the store. */
  shutdown(options: { readonly drainMs?: number } = {}): Promise<void> {
    this.#stopped ??= this.#stop(options.drainMs ?? 10_000);
    return this.#stopped;
  }

  /** Does it by itself, or inside the caller's transaction. */
  #submit<O extends EnlistedOp>(tx: EngineTx | undefined, build: () => O): Promise<OutcomeOf<O>> {
    try {
      if (tx === undefined) return this.submit(build());
      if (this.#stopped !== null) throw new PawlError("ENGINE_STOPPED", "the engine is shut down; nothing was done");
      return submitWithin(this.#config, tx, build);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #stop(drainMs: number): Promise<void> {
    await this.#worker.stop(drainMs);
    const message = "the engine was shut down before the run ended; it goes on when an engine works on it again";
    this.#runs.close(new PawlError("ENGINE_STOPPED", message));
    await this.#config.store.close();
  }

  async #checkConflict(asked: NewRun, onConflict: "use" | "fail"): Promise<void> {
    const run = await this.#worker.withRetry(() => this.#config.store.reader.get(asked.id));
    if (run === null) throw runNotFound(asked.id);
    checkConflict(this.#codec, run, asked, onConflict);
  }
}

/** Opens the store and begins to work. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const config = resolveConfig(options);
  await config.store.open(storeWorld(config.world.clock));
  const engine = new Engine(config);
  try {
    await engine.open();
  } catch (error) {
    // Nobody has it: it would go on claiming, and keep the store open.
    await engine.shutdown({ drainMs: 0 });
    throw error;
  }
  return engine;
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
