import { type Duration, parseDuration } from "../model/duration.ts";
import type { Clock } from "../runtime/clock.ts";

/** When a call that waits stops waiting. */
export interface CallLimits {
  /** Longest wait. Default: unlimited. */
  readonly timeout?: Duration;
  /** Stops the wait when it is aborted: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Stops a call that waits, at its timeout or when the caller's signal is aborted. An `AbortSignal` of its own would warn of a leak when
 * the call has more than ten listeners.
 *
 * 1. `end` removes the timer and the listener on the caller's signal, so that a signal of long life holds no ended call.
 */
export class CallLimit {
  readonly #callbacks = new Set<() => void>();
  #stopped: { readonly reason: unknown } | null = null;
  #release: () => void;

  constructor(clock: Clock, { timeout, signal }: CallLimits, createTimeoutError: () => Error) {
    const onAbort = (): void => this.#stop(signal?.reason);
    const cancelTimer =
      timeout === undefined
        ? null
        : clock.wakeAt(clock.now() + parseDuration(timeout, "timeout"), () => this.#stop(createTimeoutError()));
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#release = () => {
      cancelTimer?.();
      signal?.removeEventListener("abort", onAbort);
    };
    if (signal?.aborted === true) onAbort();
  }

  throwIfStopped(): void {
    if (this.#stopped !== null) throw this.#stopped.reason;
  }

  /** Calls back once, when the call stops. The returned function removes the callback. */
  onStop(callback: () => void): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  end(): void {
    this.#release();
    this.#callbacks.clear();
  }

  #stop(reason: unknown): void {
    this.#stopped ??= { reason };
    const callbacks = [...this.#callbacks];
    this.end();
    for (const callback of callbacks) callback();
  }
}
