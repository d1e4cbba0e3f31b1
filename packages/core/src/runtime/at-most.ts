import type { Clock } from "./clock.ts";

/** Waits for work, but not longer than this; the work goes on. */
export function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.wakeAt(clock.now() + ms, resolve);
    work.then(() => {
      cancel();
      resolve();
    }, reject);
  });
}
