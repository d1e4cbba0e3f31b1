import type { StepCommand, StepInfo } from "../workflow/command.ts";

/** One try of a step body. What it brings after it was aborted counts for nothing. */
export class Body implements StepInfo {
  readonly step: StepCommand;
  readonly attempt: number;
  readonly startedAt: number;
  readonly #runId: string;
  /** Made when the body asks for its signal. */
  #controller: AbortController | null = null;
  #aborted: Error | null = null;
  #cancelTimer: (() => void) | null = null;
  #done = false;

  constructor(runId: string, step: StepCommand, startedAt: number) {
    this.#runId = runId;
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
    return this.step.idempotencyKey ?? `${this.#runId}/${this.step.location}`;
  }

  /** Runs it; one of the two is called, once, unless it is aborted first. */
  run(onValue: (value: unknown) => void, onError: (error: unknown) => void): void {
    const settled =
      (hand: (value: unknown) => void) =>
      (value: unknown): void => {
        if (this.#finish()) hand(value);
      };
    try {
      const value = this.step.body(this);
      if (isThenable(value)) value.then(settled(onValue), settled(onError));
      else settled(onValue)(value);
    } catch (error) {
      settled(onError)(error);
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

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}
