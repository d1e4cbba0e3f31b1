import { pause } from "./stats.mjs";

/** The maximum duration of the warm-up. */
const WARM_MS_MAX = 30_000;

/**
 * Waits until at least `warmMs` have passed and `least` work is done, so that the code is compiled even on a busy host.
 *
 * @param {() => number} count @param {{ warmMs: number, least: number }} until
 */
export async function warmed(count, { warmMs, least }) {
  const from = performance.now();
  for (;;) {
    const tookMs = performance.now() - from;
    if ((tookMs >= warmMs && count() >= least) || tookMs >= WARM_MS_MAX) return;
    await pause(20);
  }
}
