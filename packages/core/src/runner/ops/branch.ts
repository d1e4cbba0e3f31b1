import { type Scope, scopeAt } from "../../model/location.ts";
import type { Codec } from "../../model/payload.ts";
import type { ResolvedRetry } from "../../model/retry.ts";
import type { Log } from "../../runtime/log.ts";
import type { Command, Completion } from "../../workflow/command.ts";
import type { AnyWorkflow, Ctx } from "../../workflow/ctx.ts";
import type { ProgramHost } from "../../workflow/program.ts";
import type { Line } from "./line.ts";

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
