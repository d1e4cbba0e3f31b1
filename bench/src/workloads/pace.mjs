/**
 * The durations of measurements.
 *
 * @import { Part } from "../spawn.mjs"
 *
 * @typedef {object} Pace
 * @property {boolean} quick Shorter windows.
 * @property {boolean} brief The shortest windows, and only the main workloads.
 */

/** The durations of warm-up and measurement of throughput. @param {Pace} pace @param {number} fullMs */
export function windowOf({ quick, brief }, fullMs) {
  if (brief) return { warmMs: 1_000, windowMs: 1_200 };
  return { warmMs: 1_500, windowMs: quick ? fullMs / 2 : fullMs };
}

/**
 * Puts the parts between two measurements of the same raw limit. A brief benchmark measures the limit once, before them.
 *
 * @param {Pace} pace @param {(name: string) => Part} raw @param {readonly Part[]} parts @returns {readonly Part[]}
 */
export function withRaw({ brief }, raw, parts) {
  return [raw("raw"), ...parts, ...(brief ? [] : [raw("rawAfter")])];
}

/** The durations of the measurements of the raw limits. @param {Pace} pace @param {number} batchMs */
export function rawOf({ brief }, batchMs) {
  return brief ? { singleMs: 250, batchMs: 600 } : { singleMs: 500, batchMs };
}
