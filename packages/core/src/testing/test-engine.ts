import type { EngineOptions } from "../engine/config.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import type { StartOptions } from "../engine/op-builders.ts";
import type { RunHandle } from "../engine/run-handle.ts";
import type { Duration } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import type { EmitOutcome, SendOutcome } from "../model/op.ts";
import { isTerminal, type Status } from "../model/run.ts";
import { isThenable } from "../runner/step-attempt.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import type { Command } from "../workflow/command.ts";
import type { AnyWorkflow, SendOptions, Workflow } from "../workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "../workflow/messages.ts";
import { type StepStubs, withStub } from "./step-stubs.ts";
import { type VirtualWorld, virtualWorld } from "./virtual-world.ts";
import { programSettings, wrapWorkflow } from "./wrapped-program.ts";

export interface TestEngineOptions extends Omit<EngineOptions, "store" | "world" | "workflows"> {
  readonly workflows: readonly AnyWorkflow[];
  /** In place of step bodies, by the name of the step or by its location. */
  readonly steps?: StepStubs;
  /** The time at which it begins. Default: the beginning of 2024, UTC. */
  readonly now?: Date | number;
  /** Another seed, other ids. */
  readonly seed?: number;
}

/** The real engine on a store in memory, with time that passes when the test says so, or when nothing else can happen. */
export interface TestEngine {
  readonly engine: Engine;
  readonly world: VirtualWorld;
  /** Starts a run and lets it come as far as it comes without time. `result()` of what is given lets time pass until its end. */
  start<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: StartOptions,
  ): Promise<RunHandle<Output>>;
  /** A handle whose `result()` lets time pass until the run has ended. */
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
  /** Lets so much time pass; whatever is due meanwhile happens, one after the other. */
  advance(duration: Duration): Promise<void>;
  /** Lets everything happen that needs no time. */
  settle(): Promise<void>;
  now(): number;
  close(): Promise<void>;
}

/** Nobody else is there to be heard of: beats and polls would only fill the time that a test lets pass. */
const ALONE = { poll: "30 days", lease: "90 days" } as const;
/** How long a body that waits for the machine is waited for before time goes on without it: it may wait for that. */
const BODY_MS_MAX = 250;
const ROUNDS_MAX = 1_000_000;
const OPEN: readonly Status[] = ["pending", "running", "suspended", "compensating"];

/**
 * An engine for tests.
 *
 * ```ts
 * const test = await testEngine({ workflows: [order], steps: { charge: () => ({ id: "p-1" }) } });
 * const run = await test.start(order, { cents: 499 });
 * await test.advance("3 days");
 * expect(await run.result()).toBe("expired");
 * ```
 */
export async function testEngine(options: TestEngineOptions): Promise<TestEngine> {
  const { workflows, steps = {}, now, seed, ...rest } = options;
  const startAt = now === undefined ? {} : { now: Number(now) };
  const world = virtualWorld({ ...startAt, ...(seed === undefined ? {} : { seed }) });
  const settings = { log: () => undefined, ...ALONE, ...rest, store: memoryStore(), world };
  const bodies = new Bodies(world);
  const through = { issue: (command: Command) => bodies.watched(withStub(command, steps)) };
  const forPrograms = programSettings(settings);
  const engine = await createEngine({
    ...settings,
    workflows: workflows.map((workflow) => wrapWorkflow(workflow, forPrograms, through)),
  });
  return new EngineInTest(engine, world, bodies);
}

/** Bodies that wait for something of the machine's: nothing has come to rest while they do. */
class Bodies {
  readonly #world: VirtualWorld;
  underWay = 0;

  constructor(world: VirtualWorld) {
    this.#world = world;
  }

  watched(command: Command): Command {
    if (command.kind !== "step" || command.transact !== undefined) return command;
    const { body } = command;
    return {
      ...command,
      body: (info) => {
        const value = body(info);
        return isThenable(value) ? this.#awaited(value) : value;
      },
    };
  }

  async #awaited(value: PromiseLike<unknown>): Promise<unknown> {
    this.underWay += 1;
    const release = this.#world.hold();
    const patience = setTimeout(release, BODY_MS_MAX);
    try {
      return await value;
    } finally {
      this.underWay -= 1;
      clearTimeout(patience);
      release();
    }
  }
}

class EngineInTest implements TestEngine {
  readonly engine: Engine;
  readonly world: VirtualWorld;
  readonly #bodies: Bodies;
  /** Time is moved by one at a time. */
  #moving: Promise<void> = Promise.resolve();

  constructor(engine: Engine, world: VirtualWorld, bodies: Bodies) {
    this.engine = engine;
    this.world = world;
    this.#bodies = bodies;
  }

  async start<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: StartOptions,
  ): Promise<RunHandle<Output>> {
    const run = await this.engine.start(workflow, input, options);
    await this.settle();
    return this.run<Output>(run.id);
  }

  run<Output = unknown>(runId: string): RunHandle<Output> {
    const run = this.engine.run<Output>(runId);
    const ended = run.result.bind(run);
    const result = async (): Promise<Output> => {
      await this.#untilEnded(runId);
      return await ended();
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
    await this.#move(() => this.world.advance(duration));
  }

  async settle(): Promise<void> {
    await this.#move(() => this.world.settle());
  }

  now(): number {
    return this.world.now();
  }

  async close(): Promise<void> {
    await this.engine.shutdown({ drainMs: 0 });
  }

  async #untilEnded(runId: string): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await this.settle();
      const run = await this.engine.get(runId);
      if (run === null || isTerminal(run.status)) return;
      const next = this.world.clock.nextAt;
      if (next === null || run.status === "paused" || !(run.wakeAt !== null || (await this.#isGoingOn())))
        throw await this.#stuck(runId);
      await this.#move(() => this.world.advance(Math.max(0, next - this.world.now())));
    }
    throw new Error(`run ${runId} has not ended after ${ROUNDS_MAX} timers`);
  }

  /** Whether time alone brings something about: for any run, since runs wake each other. */
  async #isGoingOn(): Promise<boolean> {
    if (this.#bodies.underWay > 0) return true;
    const { items } = await this.engine.list({ status: OPEN, limit: 1_000 });
    return items.some(({ wakeAt }) => wakeAt !== null);
  }

  async #stuck(runId: string): Promise<PawlError> {
    const { sentence } = await this.engine.explain(runId);
    return new PawlError(
      "RUN_WAITS",
      `${sentence}. No time brings that: send it, or emit it, before you ask for the result`,
    );
  }

  async #move(move: () => Promise<void>): Promise<void> {
    const before = this.#moving;
    const moved = before.then(move);
    this.#moving = moved.catch(() => undefined);
    await moved;
  }
}
