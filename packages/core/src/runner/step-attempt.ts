import type { Payload } from "../model/run.ts";
import { type AsyncContext, EMPTY_CONTEXT } from "../runtime/async-context.ts";
import type { Completion, StepCommand, StepInfo } from "../workflow/command.ts";

/** One execution of a step body. A result that arrives after `abort` is discarded. */
export class StepAttempt implements StepInfo {
  readonly runId: string;
  readonly step: StepCommand;
  readonly attempt: number;
  readonly startedAt: number;
  /** Created when the body reads its signal. */
  #controller: AbortController | null = null;
  #aborted: Error | null = null;
  #cancelTimer: (() => void) | null = null;
  #done = false;

  constructor(runId: string, step: StepCommand, startedAt: number) {
    this.runId = runId;
    this.step = step;
    this.attempt = step.attempts + 1;
    this.startedAt = startedAt;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted !== null) this.#controller.abort(this.#aborted);
    return this.#controller.signal;
  }

  get idempotencyKey(): string {
    return this.step.idempotencyKey ?? `${this.runId}/${this.step.location}`;
  }

  /** Executes the body. The listener is notified once of the result, unless the attempt is aborted first. */
  run(listener: StepAttemptListener): void {
    try {
      const value = this.step.body(this);
      if (!isThenable(value)) {
        if (this.#finish()) listener.attemptSucceeded(this, value);
        return;
      }
      value.then(
        (result) => {
          if (this.#finish()) listener.attemptSucceeded(this, result);
        },
        (error: unknown) => {
          if (this.#finish()) listener.attemptFailed(this, error);
        },
      );
    } catch (error) {
      if (this.#finish()) listener.attemptFailed(this, error);
    }
  }

  /** Aborts the attempt with the error of `onTimeout` when the timer set by `arm` fires. */
  limit(arm: (callback: () => void) => () => void, onTimeout: () => Error): void {
    this.#cancelTimer = arm(() => {
      if (this.#done) return;
      this.abort(onTimeout());
    });
  }

  /** Aborts the body's signal and discards its result. */
  abort(reason: Error): void {
    if (this.#finish()) this.requestEnd(reason);
  }

  /** Aborts the body's signal. Its result still counts. */
  requestEnd(reason: Error): void {
    if (this.#aborted !== null) return;
    this.#aborted = reason;
    if (this.#controller !== null) abortIn(this.step.context, this.#controller, reason);
  }

  #finish(): boolean {
    if (this.#done) return false;
    this.#done = true;
    this.#cancelTimer?.();
    return true;
  }
}

/** How one attempt ended. */
export type AttemptResult =
  | {
      readonly kind: "completed";
      readonly outcome: "ok" | "failed";
      readonly payload: Payload;
      readonly completion: Completion;
      readonly detail: string | null;
    }
  /** The attempt failed; the next one may start at `retryAt`. */
  | { readonly kind: "retry"; readonly payload: Payload; readonly retryAt: number };

export interface StepAttemptListener {
  attemptSucceeded(attempt: StepAttempt, value: unknown): void;
  attemptFailed(attempt: StepAttempt, error: unknown): void;
}

/** Aborts the signal so that its listeners, which are user code, run in the given context, by default the empty one. */
export function abortIn(context: AsyncContext = EMPTY_CONTEXT, controller: AbortController, reason: Error): void {
  context.runInAsyncScope(() => controller.abort(reason));
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}
