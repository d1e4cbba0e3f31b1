import type { ResolvedRetry, RetryOptions } from "../model/retry.ts";

/** What `acquire` is given. */
export interface AcquireInfo {
  /** 1 for the first try since the run was last resumed. */
  readonly attempt: number;
  /** Aborted when the run does not need it any more. */
  readonly signal: AbortSignal;
}

export interface ResourceOptions<Value> {
  /** Called before the run goes on: when it first asks, and after each resume. What it gives is never stored. */
  readonly acquire: (info: AcquireInfo) => Value | Promise<Value>;
  /** Called when the run is suspended, ends or is lost. Default: `Symbol.asyncDispose` or `Symbol.dispose` of the value, if any. */
  readonly release?: (value: Value) => unknown;
  /** How a failing `acquire` is tried again, before the run fails. Default: the workflow's, then 3 tries, 1 s apart at first. */
  readonly retry?: RetryOptions | false;
}

/** Something a run holds while it is worked on. */
export interface Resource<Value> {
  readonly name: string;
  /** What was acquired last. Read it where it is used: after a resume it is another. */
  readonly value: Value;
}

/** A resource as a program asks its host for it. */
export interface ResourceRequest {
  readonly name: string;
  readonly acquire: (info: AcquireInfo) => unknown;
  readonly release: (value: unknown) => unknown;
  readonly retry: ResolvedRetry;
  /** Hands the resource to the program. Called once. */
  settle(resource: Resource<unknown>): void;
}
