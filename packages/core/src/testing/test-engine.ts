import type { CallLimits } from "../engine/call-limit.ts";
import { ENGINE_KINDS, type EngineOptions } from "../engine/config.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import type { StartOptions } from "../engine/op-builders.ts";
import type { RunHandle } from "../engine/run-handle.ts";
import { isOwnPause } from "../engine/runs.ts";
import type { Duration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import type { EmitOutcome, SendOutcome } from "../model/op.ts";
import { kinds, optionTable, readOptions } from "../model/option-check.ts";
import { isTerminal, type Status } from "../model/run.ts";
import { isThenable } from "../runner/step-attempt.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import type { Command } from "../workflow/command.ts";
import type { AnyWorkflow, SendOptions, Workflow } from "../workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "../workflow/messages.ts";
import { checkWorkflow } from "../workflow/workflow.ts";
import { type StepStub, type StepStubs, WatchedStubs } from "./step-stubs.ts";
import { SEED, type VirtualWorld, virtualWorld } from "./virtual-world.ts";
import { programSettings, wrapWorkflow } from "./wrapped-program.ts";

export interface TestEngineOptions extends Omit<EngineOptions, "store" | "world" | "workflows"> {
  readonly workflows: readonly AnyWorkflow[];
  /** Replacements of step bodies, by step name or location. */
  readonly steps?: StepStubs;
  /** `reject`: `close` rejects with `STUB_UNUSED` if no step used a stub and a step ran its own body. Default `reject`. */
  readonly unusedSteps?: "reject" | "allow";
  /** The initial time. Default: 2024-01-01, UTC. */
  readonly now?: Date | number;
  /** Seed of ids and random numbers. Default 1. */
  readonly seed?: number;
}

/** The real engine on a memory store. Time passes only by `advance`, and while a result is awaited. */
export interface TestEngine {
  readonly engine: Engine;
  readonly world: VirtualWorld;
  /** Starts a run and executes it as far as it gets without time. `result()` of the returned handle advances the time until it ends. */
  start<Input, Output>(
    workflow: Workflow<Input, Output>,
    ...none: undefined extends Input ? [] : [input: Input]
  ): Promise<RunHandle<Output>>;
  start<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: StartOptions,
  ): Promise<RunHandle<Output>>;
  /** Returns a handle whose `result()` advances the time until the run has ended. */
  run<Output = unknown>(runId: string): RunHandle<Output>;
  send<Value>(
    runId: string,
    message: string | MessageType<Value>,
    value: Value,
    options?: SendOptions,
  ): Promise<SendOutcome>;
  emit<Value>(
    topic: string | TopicType<Value>,
    value: Value,
    options?: EventOptions & { readonly id?: string },
  ): Promise<EmitOutcome>;
  /** Advances the time by `duration`. Timers fire in order, each after the effects of the one before. */
  advance(duration: Duration): Promise<void>;
  /** Resolves when everything that needs no time has happened. */
  settle(): Promise<void>;
  now(): number;
  /** Shuts the engine down. Rejects with `STUB_UNUSED` if a name in `steps` fits no step; see `unusedSteps`. */
  close(): Promise<void>;
}

const { store: _store, world: _world, ...KINDS } = ENGINE_KINDS;

const OPTIONS = optionTable<TestEngineOptions>("testEngine", {
  ...KINDS,
  workflows: kinds.required(KINDS.workflows),
  steps: kinds.map<StepStub>(kinds.callback),
  unusedSteps: kinds.oneOf("reject", "allow"),
  now: kinds.either(kinds.time, kinds.date),
  seed: SEED,
});

/** Long intervals: there is no other worker, and each heartbeat and poll would be one more timer to fire. */
const SINGLE_WORKER = { poll: "30 days", lease: "90 days" } as const;
/** How long a step body that performs I/O stops the time. It may wait for its own timeout, so the time must pass eventually. */
const BODY_MS_MAX = 250;
const TIMERS_MAX = 1_000_000;
const OPEN: readonly Status[] = ["pending", "running", "suspended", "compensating"];

/**
 * Creates an engine for tests.
 *
 * ```ts
 * const test = await testEngine({ workflows: [order], steps: { charge: () => ({ id: "p-1" }) } });
 * const run = await test.start(order, { cents: 499 });
 * await test.advance("3 days");
 * expect(await run.result()).toBe("expired");
 * ```
 */
export async function testEngine(options: TestEngineOptions): Promise<TestEngine> {
  const { workflows: given, steps = {}, unusedSteps = "reject", now, seed, ...rest } = readOptions(OPTIONS, options);
  const workflows = given.map(checkWorkflow);
  const startAt = now === undefined ? {} : { now: Number(now) };
  const world = virtualWorld({ ...startAt, ...(seed === undefined ? {} : { seed }) });
  const settings = { log: () => undefined, ...SINGLE_WORKER, ...rest, store: memoryStore(), world };
  const bodies = new Bodies(world);
  const stubs = new WatchedStubs(steps);
  const wrapper = { issue: (command: Command) => bodies.watched(stubs.apply(command)) };
  const ofPrograms = programSettings(settings);
  const engine = await createEngine({
    ...settings,
    workflows: workflows.map((workflow) => wrapWorkflow(workflow, ofPrograms, wrapper)),
  });
  return new EngineInTest(engine, world, bodies, unusedSteps === "reject" ? stubs : null);
}

/** Keeps the world from settling while step bodies perform I/O. */
class Bodies {
  readonly #world: VirtualWorld;
  running = 0;

  constructor(world: VirtualWorld) {
    this.#world = world;
  }

  watched(command: Command): Command {
    if (command.kind !== "step" || command.transact !== undefined) return command;
    const { body, shouldRetry, retryDelay = null } = command;
    const watched =
      <Args extends readonly unknown[], Value>(call: (...args: Args) => Value) =>
      (...args: Args): Value => {
        const value = call(...args);
        return isThenable(value) ? (this.#awaited(value) as Value) : value;
      };
    return {
      ...command,
      body: watched(body),
      shouldRetry: shouldRetry === null ? null : watched(shouldRetry),
      retryDelay: retryDelay === null ? null : watched(retryDelay),
    };
  }

  async #awaited(value: PromiseLike<unknown>): Promise<unknown> {
    this.running += 1;
    const release = this.#world.hold();
    const timer = setTimeout(release, BODY_MS_MAX);
    try {
      return await value;
    } finally {
      this.running -= 1;
      clearTimeout(timer);
      release();
    }
  }
}

class EngineInTest implements TestEngine {
  readonly engine: Engine;
  readonly world: VirtualWorld;
  readonly #bodies: Bodies;
  /** Null when they were checked, or are not to be checked. */
  #stubs: WatchedStubs | null;
  /** The last queued change of time. Changes run one after another. */
  #changing: Promise<void> = Promise.resolve();

  constructor(engine: Engine, world: VirtualWorld, bodies: Bodies, stubs: WatchedStubs | null) {
    this.engine = engine;
    this.world = world;
    this.#bodies = bodies;
    this.#stubs = stubs;
  }

  async start<Output>(
    workflow: Workflow<unknown, Output>,
    input?: unknown,
    options?: StartOptions,
  ): Promise<RunHandle<Output>> {
    const run = await this.engine.start(workflow, input, options);
    await this.settle();
    return this.run<Output>(run.id);
  }

  run<Output = unknown>(runId: string): RunHandle<Output> {
    const run = this.engine.run<Output>(runId);
    const ended = run.result.bind(run);
    const result = async (limits?: CallLimits): Promise<Output> => {
      if (limits?.timeout !== undefined) return await this.#untilSettled(ended(limits));
      await this.#untilEnded(runId);
      return await ended(limits);
    };
    return Object.assign(run, { result });
  }

  async send<Value>(
    runId: string,
    message: string | MessageType<Value>,
    value: Value,
    options?: SendOptions,
  ): Promise<SendOutcome> {
    const outcome = await this.engine.send(runId, message, value, options);
    await this.settle();
    return outcome;
  }

  async emit<Value>(
    topic: string | TopicType<Value>,
    value: Value,
    options?: EventOptions & { readonly id?: string },
  ): Promise<EmitOutcome> {
    const outcome = await this.engine.emit(topic, value, options);
    await this.settle();
    return outcome;
  }

  async advance(duration: Duration): Promise<void> {
    await this.#changeTime(() => this.world.advance(duration));
  }

  async settle(): Promise<void> {
    await this.#changeTime(() => this.world.settle());
  }

  now(): number {
    return this.world.now();
  }

  async close(): Promise<void> {
    await this.engine.shutdown({ drainMs: 0 });
    const missed = this.#stubs?.missed() ?? null;
    // A test may close the engine twice. One report is enough.
    this.#stubs = null;
    if (missed !== null) throw new PawlError("STUB_UNUSED", `no step used the stub ${missed}`);
  }

  async #untilEnded(runId: string): Promise<void> {
    for (let timers = 0; timers < TIMERS_MAX; timers += 1) {
      await this.settle();
      // Read before the calls below: each of them arms a timeout that is no reason to stop the time there.
      const next = this.world.clock.nextAt;
      const run = await this.engine.get(runId);
      if (run === null || isTerminal(run.status)) return;
      // The result rejects with the reason.
      if (run.status === "paused" && isOwnPause(run.error)) return;
      if (next === null || run.status === "paused" || !(run.wakeAt !== null || (await this.#needsTime())))
        throw await this.#stuck(runId);
      await this.#changeTime(() => this.world.advance(Math.max(0, next - this.world.now())));
    }
    throw new Error(`run ${runId} has not ended after ${TIMERS_MAX} timers`);
  }

  /** Advances the time until a promise that has a timeout settles. */
  async #untilSettled<Value>(promise: Promise<Value>): Promise<Value> {
    let isSettled = false;
    const onSettled = (): void => {
      isSettled = true;
    };
    promise.then(onSettled, onSettled);
    for (;;) {
      await this.settle();
      const next = this.world.clock.nextAt;
      if (isSettled || next === null) return await promise;
      await this.#changeTime(() => this.world.advance(Math.max(0, next - this.world.now())));
    }
  }

  /** True if any run can progress by time alone. All runs count, because runs wake each other. */
  async #needsTime(): Promise<boolean> {
    if (this.#bodies.running > 0) return true;
    const { items } = await this.engine.list({ status: OPEN, limit: 1_000 });
    return items.some(({ wakeAt }) => wakeAt !== null);
  }

  async #stuck(runId: string): Promise<PawlError> {
    const { sentence } = await this.engine.explain(runId);
    return new PawlError("RUN_WAITS", `${sentence}; send the message or emit the event before awaiting the result`);
  }

  async #changeTime(change: () => Promise<void>): Promise<void> {
    const before = this.#changing;
    const changed = before.then(change);
    this.#changing = changed.catch(() => undefined);
    await changed;
  }
}
