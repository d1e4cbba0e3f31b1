import { pause } from "./stats.mjs";

/** However slow something is, it is measured after so long. */
const WARM_MS_MAX = 30_000;

/**
 * What is measured has been compiled by then, also where others take most of the machine: so long, and so much.
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
