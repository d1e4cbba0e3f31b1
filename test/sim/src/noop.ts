/** Does nothing: for callbacks that must be there. */
export function noop(): void {
  // On purpose.
}

/** Is never settled: what a dead process waits for. A fresh one each time, or all who ever waited would hang on it. */
export function never(): Promise<never> {
  return new Promise(noop);
}
