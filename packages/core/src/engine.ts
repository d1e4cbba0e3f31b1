import { DeadLetters } from "./dead-letters.ts";
import { type EngineConfig, type EngineOptions, resolveConfig } from "./engine-config.ts";
import { type EngineEventKind, EventHub, type EventOf, statusEvent } from "./engine-events.ts";
import { type RunHandle, type RunSummary, Runs } from "./handle.ts";
import { type Duration, parseDuration } from "./model/duration.ts";
import { PawlError } from "./model/errors.ts";
import { checkName, checkRunId, checkTarget } from "./model/names.ts";
import type { EmitOutcome, Op, OutcomeOf, SendOutcome } from "./model/op.ts";
import { type Codec, createCodec } from "./model/payload.ts";
import type { NewRun, Run, Status } from "./model/run.ts";
import { checkSchema } from "./model/schema.ts";
import { failurePayload } from "./runner/failure-payload.ts";
import { messageName } from "./runner/ops/listen.ts";
import { eventPost } from "./runner/ops/post.ts";
import type { ListQuery, Page } from "./store/store.ts";
import { Worker } from "./worker.ts";
import type { SendOptions, Workflow } from "./workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "./workflow/messages.ts";

export interface StartOptions {
  /** Unique among runs. Starting again with the same id, workflow and input gives the run that exists. Default: a fresh one. */
  readonly id?: string;
  /** `use` (default): the run that exists, if its workflow and input are the same. `fail`: an error, code `RUN_EXISTS`. */
  readonly onConflict?: "use" | "fail";
  readonly tags?: readonly string[];
  /** Not begun before this much time has passed. */
  readonly delay?: Duration;
}

export interface RecoveryReport {
  /** Runs of dead workers that were freed. */
  readonly freed: number;
  /** Runs that this worker has claimed. */
  readonly claimed: number;
  /** Runs of this worker that were due. */
  readonly due: number;
  /** What there is in the store. */
  readonly open: Readonly<Record<Extract<Status, "pending" | "running" | "suspended" | "paused">, number>>;
}

/** Opens the store and begins to work. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const config = resolveConfig(options);
  const { clock } = config.world;
  await config.store.open({
    now: () => clock.now(),
    every(ms, callback) {
      let cancel = (): void => {};
      const next = (): void => {
        cancel = clock.wakeAt(clock.now() + ms, () => {
          next();
          callback();
        });
      };
      next();
      return () => cancel();
    },
  });
  const engine = new Engine(config);
  await engine.open();
  return engine;
}

/** Starts, sends, reads and controls runs; and works on them, if it was given workflows. */
export class Engine {
  readonly deadLetters: DeadLetters;
  readonly #config: EngineConfig;
  readonly #codec: Codec;
  readonly #hub: EventHub;
  readonly #worker: Worker;
  readonly #runs: Runs;
  #stopped: Promise<void> | null = null;

  /** Use `createEngine`. */
  constructor(config: EngineConfig) {
    const { log, payloadBytesMax, store } = config;
    this.#config = config;
    this.#codec = createCodec(config.codec, {
      bytesMax: payloadBytesMax,
      warnBytes: Math.floor(payloadBytesMax / 8),
      onLarge: (what, bytes) =>
        log("warn", `${what} is large: values above ${payloadBytesMax} bytes are refused`, { bytes }),
    });
    this.#hub = new EventHub(log);
    this.#worker = new Worker(config, this.#codec, this.#hub, (runId, end) => this.#runs.ended(runId, end));
    this.#runs = new Runs({
      store,
      codec: this.#codec,
      clock: this.#worker.clock,
      pollMs: config.pollMs,
      hub: this.#hub,
      hears: (runId) => this.#worker.hears(runId),
      send: (...args) => this.send(...args),
      cancel: (...args) => this.cancel(...args),
      pause: (...args) => this.pause(...args),
      resume: (...args) => this.resume(...args),
    });
    this.deadLetters = new DeadLetters(store.reader, this.#codec, config, (op) => this.submit(op));
  }

  /** The id of this engine as a worker. */
  get workerId(): string {
    return this.#worker.id;
  }

  async open(): Promise<void> {
    await this.#worker.start();
    this.#runs.watch();
  }

  /** Starts a run. Resolves when the run is durable. */
  async start<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options: StartOptions = {},
  ): Promise<RunHandle<Output>> {
    const { random } = this.#config.world;
    const { store } = this.#config;
    const now = store.now();
    const id = options.id === undefined ? random.id(now) : checkRunId(options.id);
    const schema = workflow.options.input;
    const checked = schema === undefined ? input : checkSchema(schema, input, `input of run ${id}`);
    const delayMs = options.delay === undefined ? 0 : parseDuration(options.delay, "delay");
    const run: NewRun = {
      id,
      workflow: workflow.name,
      version: workflow.version,
      input: this.#codec.encode(checked, `input of run ${id}`),
      tags: (options.tags ?? []).map((tag) => checkName(tag, "tag")),
      parent: null,
      createdAt: now,
      startId: random.id(now),
      owner: delayMs === 0 && this.#worker.canTake(workflow.name) ? this.#worker.id : null,
      startAt: now + delayMs,
    };
    const outcome = await this.submit({ kind: "start", run });
    if (outcome.kind === "exists") return await this.#existing(run, checked, options.onConflict ?? "use");
    this.#hub.emit({ kind: "run.started", runId: id, workflow: run.workflow });
    if (run.owner !== null) this.#worker.take(createdRun(run));
    else this.#worker.kick();
    return this.#runs.handle<Output>(id);
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

  async send<Value>(
    runId: string,
    message: string | MessageType<Value>,
    value: Value,
    options: SendOptions = {},
  ): Promise<SendOutcome> {
    const name = checkName(messageName(message), "message name");
    const schema = typeof message === "string" ? null : message.schema;
    const checked = schema === null ? value : checkSchema(schema, value, `message ${name}`);
    const at = this.#config.store.now();
    return await this.submit({
      kind: "send",
      post: {
        kind: "message",
        to: checkTarget(runId),
        id: options.id === undefined ? this.#config.world.random.id(at) : checkName(options.id, "message id"),
        name,
        value: this.#codec.encode(checked, `message ${name}`),
        at,
        onTargetTerminated: options.onTargetTerminated ?? "discard",
        from: null,
      },
    });
  }

  async emit<Value>(
    topic: string | TopicType<Value>,
    value: Value,
    options: EventOptions & { readonly id?: string } = {},
  ): Promise<EmitOutcome> {
    const at = this.#config.store.now();
    const id = options.id === undefined ? this.#config.world.random.id(at) : checkName(options.id, "event id");
    const post = eventPost(topic, value, { ...options, id }, at, { ...this.#config, codec: this.#codec });
    return await this.submit({ kind: "emit", post });
  }

  /** Ends a run as cancelled. False: it had ended before. */
  async cancel(runId: string, reason?: string): Promise<boolean> {
    const error = new PawlError("RUN_CANCELLED", reason ?? `run ${runId} was cancelled`);
    const outcome = await this.#control(runId, "cancel", error);
    if (outcome === "ended") return false;
    const payload = failurePayload(this.#codec, error, "reason");
    this.#runs.ended(runId, { status: "cancelled", outcome: payload });
    return true;
  }

  /** Stops a run where it is, until it is resumed. A step body that is under way is aborted, and runs again then. */
  async pause(runId: string, reason?: string): Promise<void> {
    const outcome = await this.#control(
      runId,
      "pause",
      new PawlError("RUN_PAUSED", reason ?? `run ${runId} was paused`),
    );
    if (outcome === "ended") throw new PawlError("RUN_ENDED", `run ${runId} has ended; it can't be paused`);
  }

  /** Lets a paused run go on. */
  async resume(runId: string): Promise<void> {
    const id = checkTarget(runId);
    const outcome = await this.submit({ kind: "resume", runId: id, opId: this.#opId() });
    if (outcome.kind === "notFound") throw notFound(id);
    if (outcome.kind === "ended")
      throw new PawlError("RUN_ENDED", `run ${id} is ${outcome.status}; it can't be resumed`);
    if (outcome.kind === "refused") throw new PawlError("RUN_NOT_PAUSED", `run ${id} is ${outcome.status}, not paused`);
    await this.#tell(id, "run.resumed");
    this.#worker.kick();
  }

  /** Frees runs of dead workers and claims what there is. It happens by itself; this does it now, and counts. */
  async recover(): Promise<RecoveryReport> {
    const { reader } = this.#config.store;
    const round = await this.#worker.recover();
    const [pending, running, suspended, paused] = await Promise.all(
      (["pending", "running", "suspended", "paused"] as const).map((status) => reader.count({ status: [status] })),
    );
    return {
      ...round,
      open: { pending: pending ?? 0, running: running ?? 0, suspended: suspended ?? 0, paused: paused ?? 0 },
    };
  }

  /** Calls back at each such event; the returned function ends it. */
  on<Kind extends EngineEventKind>(kind: Kind, listener: (event: EventOf<Kind>) => void): () => void {
    return this.#hub.on(kind, listener);
  }

  /** The layer below: an op as data. */
  async submit<O extends Op>(op: O): Promise<OutcomeOf<O>> {
    if (this.#stopped !== null)
      throw new PawlError("ENGINE_STOPPED", `the engine is shut down; ${op.kind} was not done`);
    return await this.#worker.coordinator.submit(op);
  }

  async submitBatch<const Ops extends readonly Op[]>(ops: Ops): Promise<{ [I in keyof Ops]: OutcomeOf<Ops[I]> }> {
    if (this.#stopped !== null) throw new PawlError("ENGINE_STOPPED", "the engine is shut down; nothing was done");
    return await this.#worker.coordinator.submitBatch(ops);
  }

  /** Stops claiming, lets work end until `drainMs` is over, gives the rest back, and closes the store. */
  shutdown(options: { readonly drainMs?: number } = {}): Promise<void> {
    this.#stopped ??= this.#stop(options.drainMs ?? 10_000);
    return this.#stopped;
  }

  async #stop(drainMs: number): Promise<void> {
    await this.#worker.stop(drainMs);
    this.#runs.close();
    await this.#config.store.close();
  }

  async #control(runId: string, kind: "cancel" | "pause", error: PawlError): Promise<"done" | "ended"> {
    const id = checkTarget(runId);
    const outcome = await this.submit({
      kind,
      runId: id,
      opId: this.#opId(),
      reason: failurePayload(this.#codec, error, "reason"),
    });
    if (outcome.kind === "notFound") throw notFound(id);
    if (outcome.kind === "ended") return "ended";
    this.#worker.letGo(id, error);
    await this.#tell(id, kind === "cancel" ? "run.cancelled" : "run.paused", error);
    return "done";
  }

  async #tell(
    runId: string,
    kind: "run.cancelled" | "run.paused" | "run.resumed",
    error: Error | null = null,
  ): Promise<void> {
    if (!this.#hub.hears(kind)) return;
    const run = await this.#config.store.reader.get(runId);
    if (run === null) return;
    if (kind === "run.resumed") this.#hub.emit({ kind, runId, workflow: run.workflow });
    else this.#hub.emit(statusEvent(run, kind === "run.paused" ? "paused" : "cancelled", error));
  }

  async #existing<Output>(asked: NewRun, input: unknown, onConflict: "use" | "fail"): Promise<RunHandle<Output>> {
    const run = await this.#config.store.reader.get(asked.id);
    const plain = createCodec(null, {
      bytesMax: Number.MAX_SAFE_INTEGER,
      warnBytes: Number.MAX_SAFE_INTEGER,
      onLarge: () => {},
    });
    const same =
      run !== null &&
      run.workflow === asked.workflow &&
      plain.encode(this.#codec.decode(run.input), "input") === plain.encode(input, "input");
    if (onConflict === "use" && (same || (run !== null && run.generation > 0 && run.workflow === asked.workflow))) {
      return this.#runs.handle<Output>(asked.id);
    }
    const why =
      onConflict === "fail"
        ? "onConflict is fail"
        : run?.workflow === asked.workflow
          ? "its input is another"
          : `it is of workflow ${run?.workflow}`;
    throw new PawlError("RUN_EXISTS", `run ${asked.id} exists, and ${why}; nothing was started`);
  }

  #opId(): string {
    return this.#config.world.random.id(this.#config.store.now());
  }
}

/** The row that creating a run makes. */
function createdRun(run: NewRun): Run {
  const { startAt: _, ...facts } = run;
  return {
    ...facts,
    status: "running",
    epoch: 1,
    turn: 0,
    wakeAt: null,
    wait: null,
    inboxLast: 0,
    baseSeq: 0,
    generation: 0,
    claims: 0,
    claimSeq: 0,
    startedAt: run.createdAt,
    endedAt: null,
    outcome: null,
  };
}

function notFound(runId: string): PawlError {
  return new PawlError("RUN_NOT_FOUND", `there is no run ${runId}; check the id, or whether retention has removed it`);
}
