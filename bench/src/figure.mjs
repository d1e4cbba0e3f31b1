import { median, spread } from "./stats.mjs";

/**
 * @typedef {"count" | "ratio" | "micros" | "ms" | "bytes" | "mebibytes" | "percent"} Unit
 *
 * @typedef {object} Goals The goals of a figure.
 * @property {"atLeast" | "atMost" | "below"} kind
 * @property {number | null} bar Required of a release.
 * @property {number | null} target Wanted beyond that.
 *
 * @typedef {object} Figure One number of one round.
 * @property {string} name
 * @property {number} value
 * @property {Unit} unit
 * @property {Goals} [goals]
 * @property {string} [failure] The reason if it could not be measured.
 *
 * @typedef {object} Summary One number over all rounds.
 * @property {string} name
 * @property {Unit} unit
 * @property {readonly number[]} values
 * @property {readonly string[]} failures The reasons of the rounds in which it could not be measured.
 * @property {number} median The median of the other rounds.
 * @property {number} spread
 * @property {Goals | null} goals
 * @property {boolean | null} barMet Null if it has no bar.
 * @property {boolean | null} targetMet Null if it has no target.
 */

/**
 * NaN arrives as null from the process that measured it.
 *
 * @type {(name: string, value: number | null | undefined, unit: Unit, goals?: Goals) => Figure}
 */
export const figure = (name, value, unit, goals) => ({
  name,
  value: value ?? Number.NaN,
  unit,
  ...(goals === undefined ? {} : { goals }),
});

/**
 * A figure of a measurement that may have failed, with the reason.
 *
 * @type {(measured: { failure?: string }, name: string, value: number | null | undefined, unit: Unit) => Figure}
 */
export const figureOf = ({ failure }, name, value, unit) => ({
  ...figure(name, value, unit),
  ...(failure === undefined ? {} : { failure }),
});

/** @param {number | null} bar @param {number | null} [target] @returns {Goals} */
export const atLeast = (bar, target = null) => ({ kind: "atLeast", bar, target });
/** @param {number | null} bar @param {number | null} [target] @returns {Goals} */
export const atMost = (bar, target = null) => ({ kind: "atMost", bar, target });
/** @param {number | null} bar @param {number | null} [target] @returns {Goals} */
export const below = (bar, target = null) => ({ kind: "below", bar, target });

/**
 * Figures that could not be measured and have no goal are omitted.
 *
 * @param {readonly (readonly Figure[])[]} rounds The figures of each round, in the same order.
 * @returns {readonly Summary[]}
 */
export function summarize(rounds) {
  return summariesOf(rounds).filter(
    ({ median: middle, goals, failures }) => !Number.isNaN(middle) || goals !== null || failures.length > 0,
  );
}

/** @param {readonly (readonly Figure[])[]} rounds @returns {readonly Summary[]} */
function summariesOf(rounds) {
  return rounds[0].map(({ name, unit, goals = null }, index) => {
    const values = rounds.map((figures) => figures[index].value);
    const seen = values.filter((value) => !Number.isNaN(value));
    const middle = median(seen);
    return {
      name,
      unit,
      values,
      failures: rounds.flatMap((figures) => figures[index].failure ?? []),
      median: middle,
      spread: spread(seen),
      goals,
      barMet: goals === null ? null : isMet(goals.kind, goals.bar, middle),
      targetMet: goals === null ? null : isMet(goals.kind, goals.target, middle),
    };
  });
}

/** NaN meets no goal. @param {Goals["kind"]} kind @param {number | null} limit @param {number} value */
function isMet(kind, limit, value) {
  if (limit === null) return null;
  switch (kind) {
    case "atLeast":
      return value >= limit;
    case "atMost":
      return value <= limit;
    case "below":
      return value < limit;
    default:
      throw new Error(`unknown goal ${kind}`);
  }
}

const SIGNS = { atLeast: "≥", atMost: "≤", below: "<" };

/** A limit as text: `≥ 0.25`. Empty if there is none. @param {Goals | null} goals @param {"bar" | "target"} which @param {Unit} unit */
export function shownGoal(goals, which, unit) {
  const limit = goals?.[which] ?? null;
  return goals === null || limit === null ? "" : `${SIGNS[goals.kind]} ${shown(limit, unit)}`;
}

/** @param {number} value @param {Unit} unit */
export function shown(value, unit) {
  if (Number.isNaN(value)) return "–";
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
      throw new Error(`unknown unit ${unit}`);
  }
}
