import type { PawlError } from "../model/errors.ts";
import type { Stop } from "../model/record.ts";
import { ATTEMPTS_MAX } from "../model/retry.ts";
import type { RollbackFailure } from "../model/rollback-failure.ts";
import type { Command, Completion, StepCommand, StepInfo, StepRollback, WaitCommand } from "../workflow/command.ts";
import type { ProgramHost } from "../workflow/program.ts";
import { TIMED_OUT } from "./ops/wait.ts";
import { divergedAtRollback } from "./replay.ts";
import type { ChildUndo } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import type { Done } from "./undo-log.ts";

/** The end of a run that has undone what it did, with what could not be undone. */
export interface Undone extends Stop {
  readonly kind: "undone";
  readonly failures: readonly RollbackFailure[];
}

export interface CompensationParts {
  readonly host: Pick<ProgramHost, "runId" | "now">;
  readonly state: SessionState;
  readonly issue: (command: Command) => void;
  readonly undoChild: (child: ChildUndo) => Promise<string | null>;
}

type StepDone = Extract<Done, { kind: "step" }>;
type ChildDone = Extract<Done, { kind: "child" }>;

/** The run that undoes a child is started however long the store can't be reached. */
const START_RETRY = { maxAttempts: ATTEMPTS_MAX, initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.1 };

/**
 * Undoes what a run has done, one thing after the other, the newest first.
 *
 * 1. Each handler is a step of its own: recorded once, tried again by its own policy, resumed after a crash.
 * 2. One that fails for good is recorded and reported, and the next is begun.
 * 3. What a child did is undone by a run of its own, which is started once and waited for.
 */
export class Compensation {
  readonly #parts: CompensationParts;
  readonly #stop: Stop;
  readonly #failures: RollbackFailure[] = [];
  /** The run that undoes a child is started, and is to be waited for. */
  #started: WaitCommand | null = null;
  #hasEnded = false;

  constructor(parts: CompensationParts, stop: Stop) {
    this.#parts = parts;
    this.#stop = stop;
  }

  /** How the run ends; null while there is something left to undo. */
  get undone(): Undone | null {
    return this.#hasEnded ? { kind: "undone", ...this.#stop, failures: this.#failures } : null;
  }

  /** Asks for what comes next, unless something is under way. The code may not say any more how it is undone. */
  nextCommand(): PawlError | null {
    const { state: session, issue, host } = this.#parts;
    if (session.open.size > 0) return null;
    const started = this.#started;
    this.#started = null;
    const done = started === null ? session.undo.takeNewest() : null;
    if (started !== null) issue(started);
    else if (done === null) this.#hasEnded = true;
    else if (done.kind === "child") issue(this.#start(done));
    else if (done.rollback === null) return divergedAtRollback(host.runId, done);
    else issue(this.#rollback(done, done.rollback));
    return null;
  }

  #rollback({ location, payload }: StepDone, { run, ...policy }: StepRollback): StepCommand {
    const { codec } = this.#parts.state;
    const body = async (info: StepInfo): Promise<void> => {
      await run(codec.decode(payload), info);
    };
    const command = { record: "rollback", location: `${location}/~rollback`, ...policy, body } as const;
    return this.#step(command, (completion) => this.#settled(location, completion));
  }

  #start({ location, child }: ChildDone): StepCommand {
    const { host, undoChild } = this.#parts;
    const at = `${location}/~rollback`;
    const asked: ChildUndo = { child, parent: host.runId, location: at, reason: this.#stop.reason };
    const policy = { retry: START_RETRY, shouldRetry: null, timeoutMs: null, retryOnTimeout: false };
    const command = { record: "spawn", location: `${at}/~start`, ...policy, body: () => undoChild(asked) } as const;
    return this.#step(command, (completion) => {
      const undoRun = completion.outcome === "ok" ? completion.value : null;
      if (typeof undoRun === "string") this.#started = this.#end(location, undoRun);
      else this.#settled(location, completion);
    });
  }

  #end(location: string, undoRun: string): WaitCommand {
    const at = `${location}/~rollback`;
    return {
      kind: "wait",
      record: "rollback",
      location: at,
      issuedAt: this.#parts.host.now(),
      arms: [{ kind: "child", location: at, child: undoRun, as: "child" }],
      count: 1,
      many: false,
      until: null,
      atDeadline: TIMED_OUT,
      settle: (completion) => this.#settled(location, completion),
    };
  }

  #step(
    command: Pick<
      StepCommand,
      "record" | "location" | "body" | "retry" | "shouldRetry" | "timeoutMs" | "retryOnTimeout"
    >,
    settle: (completion: Completion) => void,
  ): StepCommand {
    const fixed = { ephemeral: false, idempotencyKey: null, rollback: null, attempts: 0, retryAt: 0 };
    return { kind: "step", issuedAt: this.#parts.host.now(), ...command, ...fixed, settle };
  }

  #settled(step: string, completion: Completion): void {
    if (completion.outcome === "failed") this.#failures.push({ step, error: completion.error });
  }
}
