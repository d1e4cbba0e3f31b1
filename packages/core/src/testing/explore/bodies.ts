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
  readonly whose: Attribution;
  /** Whether a body that runs again gets the same randomness. */
  readonly isPinned: boolean;
}

const ORDER_MS_MAX = 9;

/** The bodies of a schedule's steps, and what goes wrong in them. */
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

  /** The command with a body that this class sees to. */
  through(command: Command, process: Process): Command {
    if (command.kind !== "step") return command;
    const { location, body, transact, rollback, retry, shouldRetry } = command;
    const isRetried = retry.maxAttempts > 1 && shouldRetry === null;
    const watched: StepCommand = {
      ...command,
      body: (info) => this.#run(process, { location, isRetried }, () => body(info)),
    };
    if (transact !== undefined)
      Object.assign(watched, {
        transact: (tx: unknown, info: Parameters<typeof transact>[1]) =>
          this.#transact(location, () => transact(tx, info)),
      });
    if (rollback === undefined || rollback === null) return watched;
    const undone = {
      location: `${location}/~rollback`,
      isRetried: rollback.retry.maxAttempts > 1 && rollback.shouldRetry === null,
    };
    const run = (...args: Parameters<typeof rollback.run>): unknown =>
      this.#run(process, undone, () => rollback.run(...args));
    return { ...watched, rollback: { ...rollback, run } };
  }

  /** It runs in the middle of a commit: nothing goes wrong in it but what it does itself. */
  #transact(location: string, call: () => unknown): unknown {
    this.#failFor(location);
    return this.#parts.whose.at(this.#place(location), call);
  }

  #run(process: Process, body: RunObservations["bodies"][number], call: () => unknown): unknown {
    const { notes, world } = this.#parts;
    const { location } = body;
    this.#failFor(location);
    notes.bodies.push(body);
    const n = notes.bodies.length;
    const faults = this.#faults.filter((fault) => fault.body === n);
    const delayMs = this.#order === null ? 0 : Math.floor(this.#order() * ORDER_MS_MAX);
    if (delayMs === 0) return this.#begin(process, location, faults, call);
    return new Promise<void>((resolve) => {
      world.clock.wakeAt(world.clock.now() + delayMs, resolve);
    }).then(() => (process.isDead ? never() : this.#begin(process, location, faults, call)));
  }

  #begin(process: Process, location: string, faults: ReadonlyArray<BodyFault>, call: () => unknown): unknown {
    const { notes, world, whose } = this.#parts;
    for (const fault of faults) {
      if (fault.kind === "hang") {
        process.isHung = true;
        notes.tell(() => `${said(location)} hangs, until its process is ended`);
        return never();
      }
      if (fault.ran) continue;
      if (fault.kind === "flake") {
        notes.tell(() => `${said(location)} fails once, before it has done anything`);
        throw new Error("made to fail once");
      }
      process.crash(`before ${said(location)} runs`);
      return never();
    }
    const count = (notes.ran.get(location) ?? 0) + 1;
    notes.ran.set(location, count);
    notes.tell(() => `${said(location)} runs${count > 1 ? " again" : ""}`);
    const value = whose.at(this.#place(location, count), call);
    if (!isThenable(value)) return this.#after(process, location, faults, value);
    const release = world.hold();
    return Promise.resolve(value)
      .finally(release)
      .then((result) => this.#after(process, location, faults, result));
  }

  #after(process: Process, location: string, faults: ReadonlyArray<BodyFault>, value: unknown): unknown {
    const { notes } = this.#parts;
    for (const fault of faults) {
      if (fault.kind === "hang" || !fault.ran) continue;
      if (fault.kind === "flake") {
        notes.tell(() => `${said(location)} has done its work, and fails before it can say so`);
        throw new Error("made to fail once, after its work");
      }
      process.crash(`before it has stored that ${said(location)} is done`);
      return never();
    }
    return value;
  }

  /** Fails a step for good, before it has done anything, where the course says so. */
  #failFor(location: string): void {
    const { schedule, notes } = this.#parts;
    if (schedule.course.kind !== "fail" || schedule.course.step !== location) return;
    notes.tell(() => `${said(location)} fails for good, before it has done anything`);
    throw new CriticalError(`${said(location)} is made to fail`);
  }

  #place(location: string, count = 1): UserCodeLocation {
    const { world, notes, isPinned } = this.#parts;
    const random = seededSequence(hash32(`${location} ${isPinned ? 1 : count}`));
    return {
      kind: "body",
      now: () => world.clock.now(),
      random,
      strayed: () => undefined,
      note: (what) => notes.tell(() => `  → ${what}`),
      unhandled: (error) => notes.unhandled.push(String(error)),
    };
  }
}

/** A step, for people. */
export function said(location: string): string {
  const undo = "/~rollback";
  if (location.endsWith(undo)) return `the rollback of step ${stepName(location.slice(0, -undo.length))}`;
  return location.includes("/") ? `step ${location}` : `step ${stepName(location)}`;
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
