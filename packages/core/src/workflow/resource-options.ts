import type { ResolvedRetry, RetryOptions } from "../model/retry.ts";
import type { AsyncContext } from "./command.ts";

export interface AcquireInfo {
  /** Counted from 1 since the run last resumed. */
  readonly attempt: number;
  /** Aborted when the run no longer needs the resource. */
  readonly signal: AbortSignal;
}

export interface ResourceOptions<Value> {
  /** Acquires the value: on the first request and after each resume, before the run continues. The value is never stored. */
  readonly acquire: (info: AcquireInfo) => Value | Promise<Value>;
  /**
   * Releases the value when the run is suspended, ends or moves to another worker. Default: its `Symbol.asyncDispose` or
   * `Symbol.dispose`, if any.
   */
  readonly release?: (value: Value) => unknown;
  /**
   * Retry policy of `acquire`. The run fails after the last attempt. `false` means one attempt. Default: the workflow's policy,
   * else 3 attempts, 1 s and 2 s apart.
   */
  readonly retry?: RetryOptions | false;
}

/** A resource of a run. */
export interface Resource<Value> {
  readonly name: string;
  /** The value acquired last. Read it where it is used: it changes with each resume. */
  readonly value: Value;
}

/** A program's request for a resource. */
export interface ResourceRequest {
  readonly name: string;
  readonly acquire: (info: AcquireInfo) => unknown;
  readonly release: (value: unknown) => unknown;
  readonly retry: ResolvedRetry;
  /** The asynchronous context in which `acquire` and `release` run. */
  readonly context: AsyncContext;
  /** Delivers the resource to the program. Called once. */
  settle(resource: Resource<unknown>): void;
}
