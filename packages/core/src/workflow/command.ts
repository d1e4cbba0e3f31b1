import type { Outcome, RecordKind } from "../model/record.ts";
import type { RetryDelay, RetryPolicy, ShouldRetry } from "../model/retry.ts";
import type { Post, StoredDocument } from "../model/transition.ts";

/** How a command ended, for the program. */
export type Completion =
  | { readonly outcome: "ok"; readonly value: unknown; readonly detail: string | null }
  | { readonly outcome: "failed"; readonly error: Error; readonly detail: string | null }
  | { readonly outcome: "timedOut" };

interface CommandFields {
  /** The kind of the record that completes it. */
  readonly record: RecordKind;
  readonly location: string;
  readonly issuedAt: number;
  /** Delivers the completion to the program. Called once. */
  settle(completion: Completion): void;
}

/** Argument of a step body. */
export interface StepInfo {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Aborted when the attempt times out, the run fails or is cancelled, or another worker owns the run. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this step of this run. Pass it to services that accept idempotency keys. */
  readonly idempotencyKey: string;
}

/** Argument of a rollback. */
export interface RollbackInfo extends StepInfo {
  /**
   * The failure that ended the run, or the reason of its cancel, as the journal has it: its name, message, code and causes, but not its
   * class. The same in every attempt, also after a crash.
   */
  readonly error: Error;
  /** Whether the step completed. False only with the option `unfinished`: the value is undefined then. */
  readonly finished: boolean;
}

/** The asynchronous context of one call: the values that each `AsyncLocalStorage` of the process has in it. */
export interface AsyncContext {
  runInAsyncScope<Value>(call: () => Value): Value;
}

/** The rollback of a completed step. */
export interface StepRollback {
  readonly run: (value: unknown, info: RollbackInfo) => unknown;
  readonly retry: RetryPolicy;
  readonly shouldRetry: ShouldRetry | null;
  /** Determines the delay before each further attempt. Default: `retry` does. */
  readonly retryDelay?: RetryDelay | null;
  readonly timeoutMs: number | null;
  readonly retryOnTimeout: boolean;
  /** Whether it also undoes a body that may have started and did not complete. Its value is undefined then. */
  readonly unfinished?: boolean;
  /** The asynchronous context in which the rollback runs. Default: the empty one. */
  readonly context?: AsyncContext;
}

export interface StepCommand extends CommandFields {
  readonly kind: "step";
  readonly body: (info: StepInfo) => unknown;
  /** Called before the first attempt. If it throws, the run is paused, and no attempt is made. */
  readonly prepare?: () => void;
  /** Called instead of `body`, inside the store's transaction. */
  readonly transact?: (tx: unknown, info: StepInfo) => unknown;
  readonly retry: RetryPolicy;
  readonly shouldRetry: ShouldRetry | null;
  /** Determines the delay before each further attempt. Default: `retry` does. */
  readonly retryDelay?: RetryDelay | null;
  readonly timeoutMs: number | null;
  readonly retryOnTimeout: boolean;
  readonly ephemeral: boolean;
  readonly idempotencyKey: string | null;
  readonly rollback?: StepRollback | null;
  /** The asynchronous context in which the body runs. Default: the empty one. */
  readonly context?: AsyncContext;
  /** Failed attempts that are recorded. */
  attempts: number;
  /** When the next attempt may start. 0 if none has failed. */
  retryAt: number;
}

/** One thing that can end a wait. */
export type Arm =
  | { readonly kind: "message"; readonly name: string; readonly as: string }
  | { readonly kind: "event"; readonly topic: string; readonly as: string }
  /** The end of run `child`, which was started at `location`. */
  | { readonly kind: "child"; readonly location: string; readonly child: string; readonly as: string };

export interface WaitCommand extends CommandFields {
  readonly kind: "wait";
  readonly arms: readonly Arm[];
  /** Number of entries that end the wait. They are received together. */
  readonly count: number;
  /** The value is the list of received entries. At the deadline it has those received so far. */
  readonly many: boolean;
  readonly until: number | null;
  /** What the deadline means: the sleep has elapsed (`ok`), the timer arm won (`ok`), or the wait timed out (`timedOut`). */
  readonly atDeadline: { readonly outcome: Extract<Outcome, "ok" | "timedOut">; readonly detail: string | null };
  /** Documents created with the wait, and again if the wait is open when a replay ends. Existing documents are not changed. */
  readonly documents?: readonly StoredDocument[];
}

export interface PostCommand extends CommandFields {
  readonly kind: "post";
  readonly post: Post;
  /** Value of the completion, available at once. */
  readonly value: unknown;
  readonly detail: string | null;
}

/** A record that completes at once. It goes with the next commit. */
export interface MarkCommand extends CommandFields {
  readonly kind: "mark";
  readonly value: unknown;
  readonly detail: string | null;
  /** Iterations of this loop to delete once the mark is written. */
  readonly trim: { readonly loop: string; readonly below: number } | null;
}

export type Command = StepCommand | WaitCommand | PostCommand | MarkCommand;
