/**
 * What is measured, and how it is judged. The parts of a workload are measured one after another in each round, each in a
 * process of its own; figures are made of the parts of one round, so that a ratio compares neighbours in time.
 *
 * @import { Figure } from "../figure.mjs"
 * @import { Part } from "../spawn.mjs"
 *
 * @typedef {object} Workload
 * @property {string} name
 * @property {string} title
 * @property {number} [roundsMax]
 * @property {readonly Part[]} parts Those that begin with the same word before a slash share a place.
 * @property {(results: Readonly<Record<string, any>>) => readonly Figure[]} figures
 */

/**
 * The mean of the same figure before and after what it is compared with; a brief run has it before alone.
 *
 * @param {number} before @param {number} [after]
 */
export function between(before, after = before) {
  return (before + after) / 2;
}
