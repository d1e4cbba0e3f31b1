import { PawlError } from "../model/errors.ts";
import type { Stop } from "../model/record.ts";
import type { RollbackFailure } from "../model/rollback-failure.ts";
import type { Command, Completion, StepCommand, StepRollback } from "../workflow/command.ts";
import type { Desk } from "./desk.ts";
import type { Done } from "./undo-log.ts";

/** The end of a run that has undone what it did, with what could not be undone. */
export interface Undone extends Stop {
  readonly kind: "undone";
  readonly failures: readonly RollbackFailure[];
}

export interface CompensationParts {
  readonly runId: string;
  readonly desk: Desk;
  /** The time of the last delivered completion. */
  readonly now: () => number;
  readonly issue: (command: Command) => void;
}

/**
 * Undoes what a run has done, one thing after the other, the newest first.
 *
 * Q1. Each handler is a step of its own: recorded once, tried again by its own policy, resumed after a crash.
 * Q2. One that fails for good is recorded and reported, and the next is begun.
 */
export class Compensation {
  readonly #parts: CompensationParts;
  readonly #stop: Stop;
  readonly #failures: RollbackFailure[] = [];
  #isOver = false;

  constructor(parts: CompensationParts, stop: Stop) {
    this.#parts = parts;
    this.#stop = stop;
  }

  /** How the run ends; null while there is something left to undo. */
  get undone(): Undone | null {
    return this.#isOver ? { kind: "undone", ...this.#stop, failures: this.#failures } : null;
  }

  /** Asks for what comes next, unless something is under way. The code may not say any more how it is undone. */
  ask(): PawlError | null {
    const { desk, issue, runId } = this.#parts;
    if (desk.open.size > 0) return null;
    const done = desk.undo.takeNewest();
    if (done === null) {
      this.#isOver = true;
      return null;
    }
    const { rollback } = done;
    if (rollback === null) return unknownRollback(runId, done);
    issue(this.#command(done, rollback));
    return null;
  }

  #command({ location, payload }: Done, rollback: StepRollback): StepCommand {
    const { desk, now } = this.#parts;
    const { retry, shouldRetry, timeoutMs, retryOnTimeout } = rollback;
    return {
      kind: "step",
      record: "rollback",
      location: `${location}/~rollback`,
      issuedAt: now(),
      body: async (info) => {
        await rollback.run(desk.codec.decode(payload), info);
      },
      retry,
      shouldRetry,
      timeoutMs,
      retryOnTimeout,
      ephemeral: false,
      idempotencyKey: null,
      rollback: null,
      attempts: 0,
      retryAt: 0,
      settle: (completion) => this.#settled(location, completion),
    };
  }

  #settled(step: string, completion: Completion): void {
    if (completion.outcome === "failed") this.#failures.push({ step, error: completion.error });
  }
}

function unknownRollback(runId: string, { location, seq }: Done): PawlError {
  return new PawlError(
    "HISTORY_DIVERGED",
    `run ${runId}: step ${location} (record ${seq}) was done with a rollback, but the code has none for it. ` +
      "The run is paused and its journal unharmed: deploy code that says how the step is undone, then resume the run",
  );
}
