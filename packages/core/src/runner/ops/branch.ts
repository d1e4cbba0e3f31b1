import { type Scope, scopeAt } from "../../model/location.ts";
import type { Codec } from "../../model/payload.ts";
import type { ResolvedRetry } from "../../model/retry.ts";
import type { Log } from "../../runtime/log.ts";
import type { Command, Completion } from "../../workflow/command.ts";
import type { AnyWorkflow, Ctx } from "../../workflow/ctx.ts";
import type { ProgramHost } from "../../workflow/program.ts";

/** What the engine's configuration says to workflows. */
export interface ProgramSettings {
  readonly codec: Codec;
  readonly log: Log;
  readonly propagateChildFailures: boolean;
  readonly eventRetentionMs: number;
  readonly pendingMax: number;
}

/** A line of a workflow's execution: where its operations get their locations, and whom they ask. */
export interface Branch {
  readonly host: ProgramHost;
  readonly scope: Scope;
  readonly workflow: AnyWorkflow;
  readonly settings: ProgramSettings;
  /** For steps that say nothing of retries. */
  readonly retry: ResolvedRetry;
  /** Set in a branch that may be ended before its end. */
  readonly line: Line | null;
  readonly createCtx: (branch: Branch) => Ctx;
}

/** A branch of a branch: its locations lie under `path`. */
export function branchAt(branch: Branch, path: string): Branch {
  return { ...branch, scope: scopeAt(`${path}/`) };
}

/** Aborted with the branch, or with its run. */
export function outerSignal(branch: Branch): AbortSignal {
  return branch.line?.signal ?? branch.host.signal;
}

/** Asks for a command. What is asked by a branch that has been ended is never answered. */
export function issue(branch: Branch, command: Command): void {
  if (branch.line === null || !branch.line.isOver) branch.host.issue(command);
}

/** Issues a command; the promise settles with what `read` makes of its completion. What `build` throws rejects it. */
export function issued<Value>(
  branch: Branch,
  build: (settle: (completion: Completion) => void) => Command,
  read: (completion: Completion) => Value,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    issue(branch, build(settling(read, resolve, reject)));
  });
}

/** Apart from who asks, so that what it was asked with is not held until it settles. */
function settling<Value>(
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

/** The value of a completion; a failure is thrown. */
export function valueIn(completion: Completion): unknown {
  if (completion.outcome === "failed") throw completion.error;
  return completion.outcome === "ok" ? completion.value : undefined;
}

/** A branch that may be ended before it has come to its end: what it asks for after that counts for nothing. */
export class Line {
  readonly #within: Line | null;
  readonly #outer: () => AbortSignal;
  /** Children that were started here, by location, and are not known to have ended. */
  readonly #children = new Map<string, string>();
  #controller: AbortController | null = null;
  #reason: Error | null = null;

  constructor(within: Line | null, outer: () => AbortSignal) {
    this.#within = within;
    this.#outer = outer;
  }

  get isOver(): boolean {
    return this.#reason !== null || (this.#within?.isOver ?? false);
  }

  /** Aborted when the branch is ended, or what it lies in. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== null) this.#controller.abort(this.#reason);
    return AbortSignal.any([this.#outer(), this.#controller.signal]);
  }

  get children(): ReadonlyMap<string, string> {
    return this.#children;
  }

  childStarted(location: string, runId: string): void {
    this.#children.set(location, runId);
    this.#within?.childStarted(location, runId);
  }

  childEnded(location: string): void {
    this.#children.delete(location);
    this.#within?.childEnded(location);
  }

  end(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
