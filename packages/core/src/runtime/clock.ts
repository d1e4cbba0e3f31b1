/** Time, as the engine sees it. */
export interface Clock {
  /** Epoch ms. */
  now(): number;
  /** Calls back once, at or after `at`; the returned function cancels. */
  wakeAt(at: number, callback: () => void): () => void;
  /** Ms since some moment, by a clock that nobody sets. Left out: there is none. */
  ticks?(): number;
}

/** Longest single hop of a timer: `setTimeout` fires at once above 2^31 - 1 ms. */
const HOP_MS_MAX = 2 ** 30;

/** The machine's clock. Long waits are made of hops, and a hop that comes early goes on waiting. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    ticks: () => performance.now(),
    wakeAt(at, callback) {
      let timer: NodeJS.Timeout;
      const arm = (leftMs: number): void => {
        timer = setTimeout(ring, Math.min(leftMs, HOP_MS_MAX));
      };
      const ring = (): void => {
        const leftMs = at - Date.now();
        if (leftMs > 0) arm(leftMs);
        else callback();
      };
      arm(Math.max(0, at - Date.now()));
      return () => clearTimeout(timer);
    },
  };
}

/** Waits for work, but not longer than this; the work goes on. */
export function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.wakeAt(clock.now() + ms, resolve);
    work.then(() => {
      cancel();
      resolve();
    }, reject);
  });
}
