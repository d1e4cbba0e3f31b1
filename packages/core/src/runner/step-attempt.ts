import type { Payload } from "../model/run.ts";
import type { Completion, StepCommand, StepInfo } from "../workflow/command.ts";

/** How one try of a step ended. */
export type AttemptResult =
  | {
      readonly kind: "completed";
      readonly outcome: "ok" | "failed";
      readonly payload: Payload;
      readonly completion: Completion;
      readonly detail: string | null;
    }
  /** It may be tried again at `retryAt`. */
  | { readonly kind: "retry"; readonly payload: Payload; readonly retryAt: number };

export interface StepAttemptListener {
  attemptSucceeded(body: StepAttempt, value: unknown): void;
  attemptFailed(body: StepAttempt, error: unknown): void;
}

/** One try of a step body. What it brings after it was aborted counts for nothing. */
export class StepAttempt implements StepInfo {
  readonly runId: string;
  readonly step: StepCommand;
  readonly attempt: number;
  readonly startedAt: number;
  /** Made when the body asks for its signal. */
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

  /** Runs it; the listener hears how it ended, once, unless it is aborted first. */
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

  /** Ends the try after its time: the body is told, and `onTimeout` is called. */
  limit(arm: (callback: () => void) => () => void, onTimeout: () => Error): void {
    this.#cancelTimer = arm(() => {
      if (this.#done) return;
      this.abort(onTimeout());
    });
  }

  /** Tells the body to stop. */
  abort(reason: Error): void {
    if (!this.#finish()) return;
    this.#aborted = reason;
    this.#controller?.abort(reason);
  }

  #finish(): boolean {
    if (this.#done) return false;
    this.#done = true;
    this.#cancelTimer?.();
    return true;
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}
