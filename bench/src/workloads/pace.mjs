/**
 * How long things are measured.
 *
 * @import { Part } from "../spawn.mjs"
 *
 * @typedef {object} Pace
 * @property {boolean} quick Shorter windows.
 * @property {boolean} brief Still shorter, and only what says most.
 */

/** How long throughput is warmed and measured. @param {Pace} pace @param {number} fullMs */
export function windowOf({ quick, brief }, fullMs) {
  if (brief) return { warmMs: 1_000, windowMs: 1_200 };
  return { warmMs: 1_500, windowMs: quick ? fullMs / 2 : fullMs };
}

/**
 * What is measured between two measurements of the same raw limit; a brief run measures that once, before.
 *
 * @param {Pace} pace @param {(name: string) => Part} raw @param {readonly Part[]} parts @returns {readonly Part[]}
 */
export function withRaw({ brief }, raw, parts) {
  return [raw("raw"), ...parts, ...(brief ? [] : [raw("rawAfter")])];
}

/** How long the raw limits are measured. @param {Pace} pace @param {number} batchMs */
export function rawOf({ brief }, batchMs) {
  return brief ? { singleMs: 250, batchMs: 600 } : { singleMs: 500, batchMs };
}
