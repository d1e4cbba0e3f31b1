/** Does nothing. For required callbacks. */
export function noop(): void {
  // On purpose.
}

/** A promise that never settles, for calls of a dead process. Each call creates one, so that waiters do not accumulate. */
export function never(): Promise<never> {
  return new Promise(noop);
}
