/** Time, as the engine sees it. */
export interface Clock {
  /** Epoch ms. */
  now(): number;
  /** Calls back once, at or after `at`. The returned function cancels. */
  wakeAt(at: number, callback: () => void): () => void;
  /** Monotonic ms since an arbitrary moment. Omitted if the platform has no monotonic clock. */
  ticks?(): number;
}

/** The longest delay passed to `setTimeout`, which fires at once above 2^31 - 1 ms. */
const DELAY_MS_MAX = 2 ** 30;

/** The system clock. A long wait uses several timeouts. A timeout that fires before `at` is set again. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    ticks: () => performance.now(),
    wakeAt(at, callback) {
      let timer: NodeJS.Timeout;
      const arm = (leftMs: number): void => {
        timer = setTimeout(onTimeout, Math.min(leftMs, DELAY_MS_MAX));
      };
      const onTimeout = (): void => {
        const leftMs = at - Date.now();
        if (leftMs > 0) arm(leftMs);
        else callback();
      };
      arm(Math.max(0, at - Date.now()));
      return () => clearTimeout(timer);
    },
  };
}

/** Waits for `work`, but at most `ms`. The work itself is not cancelled. */
export function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.wakeAt(clock.now() + ms, resolve);
    work.then(() => {
      cancel();
      resolve();
    }, reject);
  });
}
