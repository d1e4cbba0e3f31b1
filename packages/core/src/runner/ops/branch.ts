import { PawlError } from "../../model/errors.ts";
import { nextLocation, type Scope, scopeAt } from "../../model/location.ts";
import type { Codec } from "../../model/payload.ts";
import type { ResolvedRetry } from "../../model/retry.ts";
import type { Log } from "../../runtime/log.ts";
import { runningStep } from "../../runtime/unhandled-rejections.ts";
import type { Reader } from "../../store/store.ts";
import type { Command, Completion } from "../../workflow/command.ts";
import type { AnyWorkflow, Ctx } from "../../workflow/ctx.ts";
import type { ProgramHost } from "../../workflow/program.ts";

/** Engine options that operations need. */
export interface ProgramSettings {
  readonly codec: Codec;
  readonly log: Log;
  readonly propagateChildFailures: boolean;
  readonly eventRetentionMs: number;
  readonly pendingMax: number;
  /** For `ctx.result`. */
  readonly store: { readonly reader: Pick<Reader, "get"> };
  /** For workflows that do not set it. */
  readonly codeErrors: "pause" | "fail";
  readonly revision: string | null;
}

/** Where the operations of one ctx get their locations, and the host that executes them. */
export interface Branch {
  readonly host: ProgramHost;
  readonly scope: Scope;
  readonly workflow: AnyWorkflow;
  readonly settings: ProgramSettings;
  /** The retry policy of steps without their own. */
  readonly retry: ResolvedRetry;
  /** Set in a branch that can be cancelled: of a race, or an iteration of a loop. */
  readonly cancellation: BranchCancellation | null;
  readonly createCtx: (branch: Branch) => Ctx;
}

/** Returns a branch whose locations are under `path`. */
export function branchAt(branch: Branch, path: string): Branch {
  return { ...branch, scope: scopeAt(`${path}/`) };
}

/**
 * Throws in a step body. Replay executes no bodies, so an operation in a body would be missing there, and names that it uses would move
 * the locations of later operations.
 */
export function checkNotInStep(branch: Branch, operation: string): void {
  const step = runningStep();
  if (step === null) return;
  throw new PawlError(
    "CTX_IN_STEP",
    `the body of step ${step} of run ${branch.host.runId} used ctx for "${operation}"; call ctx in the workflow function, beside the step`,
  );
}

/** Returns the location of the branch's next operation of this name. */
export function locate(branch: Branch, name: string): string {
  checkNotInStep(branch, name);
  return nextLocation(branch.scope, name);
}

export function outerSignal(branch: Branch): AbortSignal {
  return branch.cancellation?.signal ?? branch.host.signal;
}

/** Issues a command. A command of a cancelled branch is dropped and never completes. */
export function issue(branch: Branch, command: Command): void {
  if (branch.cancellation === null || !branch.cancellation.isCancelled) branch.host.issue(command);
}

/** Issues a command and resolves with what `read` returns for its completion. Rejects if `build` throws. */
export function perform<Value>(
  branch: Branch,
  build: (settle: (completion: Completion) => void) => Command,
  read: (completion: Completion) => Value,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    issue(branch, build(settleWith(read, resolve, reject)));
  });
}

/** A separate function, so that the promise does not retain the arguments of the operation. */
function settleWith<Value>(
  read: (completion: Completion) => Value,
  resolve: (value: Value) => void,
  reject: (error: unknown) => void,
): (completion: Completion) => void {
  return (completion) => {
    try {
      resolve(read(completion));
    } catch (error) {
      reject(error);
    }
  };
}

/** Returns the value of a completion. Throws a failure. */
export function completionValue(completion: Completion): unknown {
  if (completion.outcome === "failed") throw completion.error;
  return completion.outcome === "ok" ? completion.value : undefined;
}

/** Cancels a branch before its end. Commands that it issues later are dropped. */
export class BranchCancellation {
  readonly #parent: BranchCancellation | null;
  readonly #outerSignal: () => AbortSignal;
  /** Children started here that are not known to have ended, by location. */
  readonly #children = new Map<string, string>();
  #controller: AbortController | null = null;
  #reason: Error | null = null;

  constructor(within: BranchCancellation | null, outer: () => AbortSignal) {
    this.#parent = within;
    this.#outerSignal = outer;
  }

  get isCancelled(): boolean {
    return this.#reason !== null || (this.#parent?.isCancelled ?? false);
  }

  /** Aborted when this branch or an outer one is cancelled. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== null) this.#controller.abort(this.#reason);
    return AbortSignal.any([this.#outerSignal(), this.#controller.signal]);
  }

  get children(): ReadonlyMap<string, string> {
    return this.#children;
  }

  childStarted(location: string, runId: string): void {
    this.#children.set(location, runId);
    this.#parent?.childStarted(location, runId);
  }

  childEnded(location: string): void {
    this.#children.delete(location);
    this.#parent?.childEnded(location);
  }

  cancel(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
