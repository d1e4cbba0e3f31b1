import { CriticalError } from "../../model/errors.ts";
import { hash32 } from "../../model/hash.ts";
import { isThenable } from "../../runner/step-attempt.ts";
import { seededSequence } from "../../runtime/random.ts";
import type { Command, StepCommand } from "../../workflow/command.ts";
import { stepName } from "../step-stubs.ts";
import type { ExploreWorld } from "./explore-world.ts";
import type { Process } from "./process.ts";
import type { RunObservations } from "./run-observations.ts";
import { type BodyFault, IN_ORDER, type Schedule } from "./schedule.ts";
import type { Attribution, UserCodeLocation } from "./user-code-location.ts";

export interface BodiesParts {
  readonly world: ExploreWorld;
  readonly schedule: Schedule;
  readonly notes: RunObservations;
  readonly attribution: Attribution;
  /** If true, a step body that runs again gets the same random numbers. */
  readonly sameRandom: boolean;
}

/** The longest delay of a step body by an `order` fault. */
const ORDER_MS_MAX = 9;

/** Runs the step bodies of a schedule, with its faults. */
export class Bodies {
  readonly #parts: BodiesParts;
  readonly #order: (() => number) | null;
  readonly #faults: ReadonlyArray<BodyFault>;

  constructor(parts: BodiesParts) {
    this.#parts = parts;
    const { faults } = parts.schedule;
    const order = faults.find((fault) => fault.kind === "order");
    this.#order = order === undefined ? null : order.seed === IN_ORDER ? () => 0.5 : seededSequence(order.seed);
    this.#faults = faults.filter((fault) => "body" in fault);
  }

  /** Returns the command with bodies that run through this class. */
  wrap(command: Command, process: Process): Command {
    if (command.kind !== "step") return command;
    const { location, body, transact, rollback, retry, shouldRetry } = command;
    const isRetried = retry.maxAttempts > 1 && shouldRetry === null;
    const wrapped: StepCommand = {
      ...command,
      ...this.#retryCallbacks(command),
      body: (info) => this.#run(process, { location, isRetried }, () => body(info)),
    };
    if (transact !== undefined)
      Object.assign(wrapped, {
        transact: (tx: unknown, info: Parameters<typeof transact>[1]) =>
          this.#transact(location, () => transact(tx, info)),
      });
    if (rollback === undefined || rollback === null) return wrapped;
    const undo = {
      location: `${location}/~rollback`,
      isRetried: rollback.retry.maxAttempts > 1 && rollback.shouldRetry === null,
    };
    const run = (...args: Parameters<typeof rollback.run>): unknown =>
      this.#run(process, undo, () => rollback.run(...args));
    return { ...wrapped, rollback: { ...rollback, ...this.#retryCallbacks(rollback), run } };
  }

  /** Returns the callbacks such that virtual time stands still until their promises settle. */
  #retryCallbacks({ shouldRetry, retryDelay = null }: Pick<StepCommand, "shouldRetry" | "retryDelay">) {
    const awaited =
      <Args extends readonly unknown[], Answer>(callback: (...args: Args) => Answer) =>
      async (...args: Args): Promise<Awaited<Answer>> => {
        const ended = this.#parts.world.startIo();
        try {
          return await callback(...args);
        } finally {
          ended();
        }
      };
    return {
      shouldRetry: shouldRetry === null ? null : awaited(shouldRetry),
      retryDelay: retryDelay === null ? null : awaited(retryDelay),
    };
  }

  /** A transaction body runs inside a commit, so no fault is injected into it. */
  #transact(location: string, call: () => unknown): unknown {
    this.#failFor(location);
    return this.#parts.attribution.at(this.#userCode(location), call);
  }

  #run(process: Process, body: RunObservations["bodies"][number], call: () => unknown): unknown {
    const { notes, world } = this.#parts;
    const { location } = body;
    this.#failFor(location);
    notes.bodies.push(body);
    const n = notes.bodies.length;
    const faults = this.#faults.filter((fault) => fault.body === n);
    const delayMs = this.#order === null ? 0 : Math.floor(this.#order() * ORDER_MS_MAX);
    if (delayMs === 0) return this.#start(process, location, faults, call);
    return new Promise<void>((resolve) => {
      world.clock.wakeAt(world.clock.now() + delayMs, resolve);
    }).then(() => (process.isDead ? never() : this.#start(process, location, faults, call)));
  }

  #start(process: Process, location: string, faults: ReadonlyArray<BodyFault>, call: () => unknown): unknown {
    const { notes, world, attribution } = this.#parts;
    for (const fault of faults) {
      if (fault.kind === "hang") {
        process.isHung = true;
        notes.log(() => `${describedStep(location)} hangs until its process is killed`);
        return never();
      }
      if (fault.ran) continue;
      if (fault.kind === "flake") {
        notes.log(() => `${describedStep(location)} fails once, before it runs`);
        throw new Error("injected failure before the step body");
      }
      process.crash(`before ${describedStep(location)} runs`);
      return never();
    }
    const count = (notes.ran.get(location) ?? 0) + 1;
    notes.ran.set(location, count);
    notes.log(() => `${describedStep(location)} runs${count > 1 ? " again" : ""}`);
    const value = attribution.at(this.#userCode(location, count), call);
    if (!isThenable(value)) return this.#after(process, location, faults, value);
    const ended = world.startIo();
    return Promise.resolve(value)
      .finally(ended)
      .then((result) => this.#after(process, location, faults, result));
  }

  #after(process: Process, location: string, faults: ReadonlyArray<BodyFault>, value: unknown): unknown {
    const { notes } = this.#parts;
    for (const fault of faults) {
      if (fault.kind === "hang" || !fault.ran) continue;
      if (fault.kind === "flake") {
        notes.log(() => `${describedStep(location)} fails once, after it ran`);
        throw new Error("injected failure after the step body");
      }
      process.crash(`before the result of ${describedStep(location)} is stored`);
      return never();
    }
    return value;
  }

  /** Fails a step permanently, before its body runs, if the scenario requires it. */
  #failFor(location: string): void {
    const { schedule, notes } = this.#parts;
    if (schedule.scenario.kind !== "fail" || schedule.scenario.step !== location) return;
    notes.log(() => `${describedStep(location)} fails permanently, before it runs`);
    throw new CriticalError(`injected failure of ${describedStep(location)}`);
  }

  #userCode(location: string, count = 1): UserCodeLocation {
    const { world, notes, sameRandom } = this.#parts;
    const random = seededSequence(hash32(`${location} ${sameRandom ? 1 : count}`));
    return {
      kind: "body",
      now: () => world.clock.now(),
      random,
      onNondeterministicCall: () => undefined,
      onEffect: (effect) => notes.log(() => `  → ${effect}`),
      onUnhandledRejection: (error) => notes.unhandled.push(String(error)),
    };
  }
}

/** A step as it is called in messages. */
export function describedStep(location: string): string {
  const undo = "/~rollback";
  if (location.endsWith(undo)) return `the rollback of step ${stepName(location.slice(0, -undo.length))}`;
  return location.includes("/") ? `step ${location}` : `step ${stepName(location)}`;
}

/** A promise that never settles: the code after it does not run. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
