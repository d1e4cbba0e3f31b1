/**
 * A workload and its figures. Its parts are measured one after another in each round, each in a separate process. Figures use the parts
 * of one round, so that a ratio compares measurements close in time.
 *
 * @import { Figure } from "../figure.mjs"
 * @import { Part } from "../spawn.mjs"
 *
 * @typedef {object} Workload
 * @property {string} name
 * @property {string} title
 * @property {number} [roundsMax]
 * @property {readonly Part[]} parts Parts with the same word before a slash share a place.
 * @property {(results: Readonly<Record<string, any>>) => readonly Figure[]} figures
 */

/**
 * The mean of a figure that is measured before and after the part that it is compared with. A brief benchmark measures it only before.
 *
 * @param {number} before @param {number} [after]
 */
export function between(before, after = before) {
  return (before + after) / 2;
}
