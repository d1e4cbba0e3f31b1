import type { Scope } from "../../model/location.ts";
import type { Codec } from "../../model/payload.ts";
import type { ResolvedRetry } from "../../model/retry.ts";
import type { Log } from "../../runtime/log.ts";
import type { Command, Completion } from "../../workflow/command.ts";
import type { AnyWorkflow } from "../../workflow/ctx.ts";
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
}

/** Issues a command; the promise settles with what `read` makes of its completion. What `build` throws rejects it. */
export function issued<Value>(
  branch: Branch,
  build: (settle: (completion: Completion) => void) => Command,
  read: (completion: Completion) => Value,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const settle = (completion: Completion): void => {
      try {
        resolve(read(completion));
      } catch (error) {
        reject(error);
      }
    };
    branch.host.issue(build(settle));
  });
}

/** The value of a completion; a failure is thrown. */
export function valueIn(completion: Completion): unknown {
  if (completion.outcome === "failed") throw completion.error;
  return completion.outcome === "ok" ? completion.value : undefined;
}
