import { median, spread } from "./stats.mjs";

/**
 * @typedef {"count" | "ratio" | "micros" | "ms" | "bytes" | "mebibytes" | "percent"} Unit
 *
 * @typedef {object} Bar What a figure has to reach.
 * @property {"atLeast" | "atMost" | "below"} kind
 * @property {number} limit
 *
 * @typedef {object} Figure One number of one round.
 * @property {string} name
 * @property {number} value
 * @property {Unit} unit
 * @property {Bar} [bar]
 *
 * @typedef {object} Summary One number over all rounds.
 * @property {string} name
 * @property {Unit} unit
 * @property {readonly number[]} values
 * @property {number} median
 * @property {number} spread
 * @property {Bar | null} bar
 * @property {boolean | null} met Null: it has no bar.
 */

/** @type {(name: string, value: number, unit: Unit, bar?: Bar) => Figure} */
export const figure = (name, value, unit, bar) => ({ name, value, unit, ...(bar === undefined ? {} : { bar }) });

/** @param {number} limit @returns {Bar} */
export const atLeast = (limit) => ({ kind: "atLeast", limit });
/** @param {number} limit @returns {Bar} */
export const atMost = (limit) => ({ kind: "atMost", limit });
/** @param {number} limit @returns {Bar} */
export const below = (limit) => ({ kind: "below", limit });

/** @param {readonly (readonly Figure[])[]} rounds The figures of each round, in the same order. @returns {readonly Summary[]} */
export function summarize(rounds) {
  return rounds[0].map(({ name, unit, bar = null }, index) => {
    const values = rounds.map((figures) => figures[index].value);
    const middle = median(values);
    return { name, unit, values, median: middle, spread: spread(values), bar, met: isMet(bar, middle) };
  });
}

/** @param {Bar | null} bar @param {number} value */
function isMet(bar, value) {
  if (bar === null) return null;
  switch (bar.kind) {
    case "atLeast":
      return value >= bar.limit;
    case "atMost":
      return value <= bar.limit;
    case "below":
      return value < bar.limit;
    default:
      throw new Error(`there is no bar ${bar.kind}`);
  }
}

/** @param {number} value @param {Unit} unit */
export function shown(value, unit) {
  switch (unit) {
    case "count":
      return Math.round(value).toLocaleString("en-US");
    case "ratio":
      return value.toFixed(value >= 10 ? 1 : value >= 0.01 ? 3 : 5);
    case "micros":
      return `${value.toFixed(1)} µs`;
    case "ms":
      return `${value.toFixed(value >= 10 ? 1 : 3)} ms`;
    case "bytes":
      return `${Math.round(value).toLocaleString("en-US")} B`;
    case "mebibytes":
      return `${(value / 2 ** 20).toFixed(1)} MiB`;
    case "percent":
      return `${(value * 100).toFixed(2)} %`;
    default:
      throw new Error(`there is no unit ${unit}`);
  }
}
