import { PawlError } from "../model/errors.ts";
import { type Failure, toError } from "../model/failure.ts";
import { COMPENSATE_LOCATION, type Stop } from "../model/record.ts";
import { ATTEMPTS_MAX } from "../model/retry.ts";
import type { RollbackFailure } from "../model/rollback-failure.ts";
import type {
  Command,
  Completion,
  RollbackInfo,
  StepCommand,
  StepInfo,
  StepRollback,
  WaitCommand,
} from "../workflow/command.ts";
import type { ProgramHost } from "../workflow/program.ts";
import type { AttachedChild } from "./attached-children.ts";
import { TIMED_OUT } from "./ops/wait.ts";
import { readPayload } from "./read-payload.ts";
import { divergedAtRollback } from "./replay.ts";
import type { ChildState, ChildUndo, SessionServices } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import type { UndoEntry } from "./undo-log.ts";

/** The end of a compensated run, with the rollbacks that failed. */
export interface Compensated extends Stop {
  readonly kind: "compensated";
  readonly failures: readonly RollbackFailure[];
}

interface CompensationParts {
  readonly host: Pick<ProgramHost, "runId" | "now">;
  readonly state: SessionState;
  readonly issue: (command: Command) => void;
  readonly services: Pick<SessionServices, "undoChild" | "closeChild">;
}

type StepEntry = Extract<UndoEntry, { kind: "step" }>;
type ChildEntry = Extract<UndoEntry, { kind: "child" }>;

/** Calls to the store are retried for as long as it is unreachable. */
const PATIENT = {
  retry: { maxAttempts: ATTEMPTS_MAX, initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.1 },
  shouldRetry: null,
  timeoutMs: null,
  retryOnTimeout: false,
} as const;

/**
 * Runs the rollbacks of a run, one at a time, newest first.
 *
 * 1. Each rollback is a step: recorded once, retried by its own policy, resumed after a crash.
 * 2. A rollback that finally fails is recorded and reported, and the next one runs.
 * 3. A completed child is compensated by a separate run, which is started once and awaited.
 * 4. First, the run waits for the ends of its attached children, which were cancelled with it. A child that completed all the same is
 *    compensated like one whose result the run received.
 */
export class Compensation {
  readonly #parts: CompensationParts;
  readonly #stop: Stop;
  readonly #failures: RollbackFailure[] = [];
  /** The wait for a child, or for the run that compensates it. */
  #childWait: WaitCommand | null = null;
  #hasEnded = false;

  constructor(parts: CompensationParts, stop: Stop) {
    this.#parts = parts;
    this.#stop = stop;
  }

  /** How the run ends. Null while rollbacks are left. */
  get ending(): Compensated | null {
    return this.#hasEnded ? { kind: "compensated", ...this.#stop, failures: this.#failures } : null;
  }

  /** Issues the next rollback, unless one is running. Returns an error if the code no longer has the rollback. */
  nextCommand(): PawlError | null {
    const { state, issue, host } = this.#parts;
    if (state.open.size > 0) return null;
    const childWait = this.#childWait;
    this.#childWait = null;
    const attached = childWait === null ? state.children.takeNewest() : null;
    const entry = childWait === null && attached === null ? state.undo.takeNewest() : null;
    if (childWait !== null) issue(childWait);
    else if (attached !== null) issue(this.#closeChild(attached));
    else if (entry === null) this.#hasEnded = true;
    else if (entry.kind === "child") issue(this.#startChildUndo(entry));
    else if (entry.rollback === null) return divergedAtRollback(host.runId, entry);
    else issue(this.#rollback(entry, entry.rollback));
    return null;
  }

  #rollback({ location, payload, finished }: StepEntry, { run, unfinished: _, ...policy }: StepRollback): StepCommand {
    const { codec } = this.#parts.state;
    let value: unknown;
    let cause: Error | null = null;
    // A value that cannot be read must pause the run. It is not a failure of the rollback.
    const prepare = (): void => {
      value = readPayload(codec, payload, location);
      cause = this.#error();
    };
    const body = async (info: StepInfo): Promise<void> => {
      await run(value, new RollbackCall(info, cause ?? this.#error(), finished));
    };
    const command = { record: "rollback", location: `${location}/~rollback`, ...policy, prepare, body } as const;
    return this.#step(command, (completion) => this.#noteFailure(location, completion));
  }

  /** The error that caused the compensation. A cancel through another run may have no reason. */
  #error(): Error {
    const { host, state } = this.#parts;
    const failure = readPayload(state.codec, this.#stop.reason, COMPENSATE_LOCATION);
    if (failure !== undefined && failure !== null) return toError(failure as Failure);
    return new PawlError("RUN_CANCELLED", `run ${host.runId} was cancelled`);
  }

  #startChildUndo({ location, child }: ChildEntry): StepCommand {
    const { host, services } = this.#parts;
    const at = `${location}/~rollback`;
    const undo: ChildUndo = { child, parent: host.runId, location: at, reason: this.#stop.reason };
    const body = (): Promise<string | null> => services.undoChild(undo);
    const command = { record: "spawn", location: `${at}/~start`, ...PATIENT, body } as const;
    return this.#step(command, (completion) => {
      const undoRun = completion.outcome === "ok" ? completion.value : null;
      if (typeof undoRun === "string") this.#childWait = this.#childUndoWait(location, undoRun);
      else this.#noteFailure(location, completion);
    });
  }

  /** Checks a child whose end the run has not received. */
  #closeChild(attached: AttachedChild): StepCommand {
    const { host, services, state } = this.#parts;
    const { location, child } = attached;
    const at = `${location}/~rollback`;
    const undo: ChildUndo = { child, parent: host.runId, location: at, reason: this.#stop.reason };
    const body = (): Promise<ChildState> => services.closeChild(undo);
    const command = { record: "cancel", location: `${at}/~close`, ...PATIENT, body } as const;
    return this.#step(command, (completion) => {
      const childState = completion.outcome === "ok" ? completion.value : null;
      if (childState === "open") this.#childWait = this.#childEndWait(attached);
      else if (childState === "undoable") state.undo.addChild(attached);
      else this.#noteFailure(location, completion);
    });
  }

  /** The end of a child that completed is added to the undo log, as every received end is. */
  #childEndWait({ location, child }: AttachedChild): WaitCommand {
    return this.#wait({
      record: "child",
      location: `${location}/~rollback/~end`,
      arms: [{ kind: "child", location, child, as: "child" }],
      settle: () => undefined,
    });
  }

  #childUndoWait(location: string, undoRun: string): WaitCommand {
    const at = `${location}/~rollback`;
    return this.#wait({
      record: "rollback",
      location: at,
      arms: [{ kind: "child", location: at, child: undoRun, as: "child" }],
      settle: (completion) => this.#noteFailure(location, completion),
    });
  }

  #wait(command: Pick<WaitCommand, "record" | "location" | "arms" | "settle">): WaitCommand {
    const fixed = { count: 1, many: false, until: null, atDeadline: TIMED_OUT };
    return { kind: "wait", issuedAt: this.#parts.host.now(), ...command, ...fixed };
  }

  #step(
    command: Pick<
      StepCommand,
      | "record"
      | "location"
      | "prepare"
      | "body"
      | "retry"
      | "shouldRetry"
      | "retryDelay"
      | "timeoutMs"
      | "retryOnTimeout"
      | "context"
    >,
    settle: (completion: Completion) => void,
  ): StepCommand {
    const fixed = { ephemeral: false, idempotencyKey: null, rollback: null, attempts: 0, retryAt: 0 };
    return { kind: "step", issuedAt: this.#parts.host.now(), ...command, ...fixed, settle };
  }

  #noteFailure(step: string, completion: Completion): void {
    if (completion.outcome === "failed") this.#failures.push({ step, error: completion.error });
  }
}

/** What a rollback receives. The signal is created when it is read. */
class RollbackCall implements RollbackInfo {
  readonly #info: StepInfo;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly error: Error;
  readonly finished: boolean;

  constructor(info: StepInfo, error: Error, finished: boolean) {
    this.finished = finished;
    this.#info = info;
    this.attempt = info.attempt;
    this.idempotencyKey = info.idempotencyKey;
    this.error = error;
  }

  get signal(): AbortSignal {
    return this.#info.signal;
  }
}
