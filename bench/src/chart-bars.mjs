import { fitted, rounded, widthOf, written } from "./chart-text.mjs";
import { shown } from "./figure.mjs";
import { median } from "./stats.mjs";

/**
 * One panel of the chart: rates as bars on a linear scale from 0, each with its number and with the ratio of Pawl's first rate to it.
 *
 * @import { Summary } from "./figure.mjs"
 *
 * @typedef {object} Bar
 * @property {string} label
 * @property {"pawl" | "raw" | "peer"} kind
 * @property {number} rate
 * @property {string | null} failure
 * @property {number | null} ratio Pawl's first rate divided by it. Null for Pawl's own bars.
 */

const LEFT = 24;
const LABEL_END = 364;
const BARS_END = 760;
const RATIO_END = 936;
const ROW = 24;
const LINES_MAX = 5;

/** The rates of a panel. A peer with several lines has one bar, for the best. @param {readonly Summary[]} figures @returns {readonly Bar[]} */
export function barsOf(figures) {
  const rates = figures.filter(
    ({ name, unit, median: rate, failures }) =>
      unit === "count" && !name.startsWith("  ") && (rate > 0 || failures.length > 0),
  );
  const ours = rates.find(isOurs);
  return groupsOf(rates).map((group) => {
    const [best] = group.toSorted((one, other) => rateOf(other) - rateOf(one));
    return {
      label: labelOf(best),
      kind: kindOf(best),
      rate: rateOf(best),
      failure: rateOf(best) > 0 ? null : (best.failures[0] ?? null),
      ratio: isOurs(best) || ours === undefined ? null : ratioOf(ours, group),
    };
  });
}

/** Groups the lines of one peer. Each line of Pawl is a group. @param {readonly Summary[]} rates */
function groupsOf(rates) {
  /** @type {Map<string, Summary[]>} */
  const groups = new Map();
  for (const rate of rates) {
    const key = isOurs(rate) ? rate.name : rate.name.split(/ \w+\/s/)[0];
    groups.set(key, [...(groups.get(key) ?? []), rate]);
  }
  return [...groups.values()];
}

/** @param {Summary} figure */
function isOurs({ name }) {
  return name.startsWith("pawl");
}

/** The name without the unit, which all bars of a panel share. The bare store keeps its unit. @param {Summary} figure */
function labelOf({ name }) {
  return name.startsWith("raw") ? name.replace("/s", "") : name.replace(/ (?:steps|tasks|jobs)\/s/, "");
}

/** @param {Summary} figure @returns {Bar["kind"]} */
function kindOf({ name }) {
  return name.startsWith("pawl") ? "pawl" : name.startsWith("raw") ? "raw" : "peer";
}

/** @param {Summary} figure */
function rateOf({ median: rate }) {
  return Number.isNaN(rate) ? 0 : rate;
}

/** The median of the ratios of all rounds, as in the tables. @param {Summary} ours @param {readonly Summary[]} group */
function ratioOf(ours, group) {
  const ratios = ours.values.map((value, round) => {
    const rates = group.map(({ values }) => values[round]).filter((rate) => rate > 0);
    return value / Math.max(...rates);
  });
  return median(ratios.filter((ratio) => ratio > 0));
}

/** @param {readonly Bar[]} bars @param {number} top @returns {{ svg: string, height: number }} */
export function panel(bars, top) {
  const highest = Math.max(10, ...bars.map(({ rate }) => rate));
  const step = stepOf(highest);
  const most = step * Math.ceil(highest / step);
  const height = bars.length * ROW;
  const parts = [
    written("a second", { x: LABEL_END, y: top + 8, size: 11, kind: "soft" }),
    written("Pawl's first ÷ it", { x: RATIO_END, y: top + 8, size: 11, kind: "soft", anchor: "end" }),
    ...ticks(most, step, top + 14, height),
    ...bars.flatMap((bar, index) => row(bar, top + 16 + index * ROW, most)),
  ];
  return { svg: parts.join("\n"), height: 16 + height + 18 };
}

/** The distance of two grid lines: a round number, with at most five lines. @param {number} most */
function stepOf(most) {
  const power = 10 ** (Math.floor(Math.log10(most)) - 1);
  return [2, 5, 10, 20].map((digits) => digits * power).find((step) => step * LINES_MAX >= most) ?? most;
}

/** @param {number} rate @param {number} most */
function place(rate, most) {
  return LABEL_END + (rate / most) * (BARS_END - LABEL_END);
}

/** @param {number} most @param {number} step @param {number} top @param {number} height @returns {readonly string[]} */
function ticks(most, step, top, height) {
  return Array.from({ length: Math.round(most / step) + 1 }, (_, tick) => {
    const rate = step * tick;
    const x = rounded(place(rate, most));
    const line = `<line x1="${x}" x2="${x}" y1="${top}" y2="${top + height}" class="grid"/>`;
    return `${line}\n${written(shown(rate, "count"), { x, y: top + height + 13, size: 10, kind: "soft", anchor: "middle" })}`;
  });
}

/** @param {Bar} bar @param {number} y @param {number} most @returns {readonly string[]} */
function row({ label, kind, rate, failure, ratio }, y, most) {
  const end = Math.max(LABEL_END + 2, place(rate, most));
  const text = failure === null ? shown(rate, "count") : fitted(`failed: ${failure}`, 12, BARS_END - LABEL_END - 8);
  // A text without room after its bar is written inside of it.
  const inside = end + 6 + widthOf(text, 12) > RATIO_END - 70;
  return [
    written(fitted(label, 13, LABEL_END - LEFT - 10), {
      x: LEFT,
      y: y + 14,
      kind: kind === "pawl" ? "ink strong" : "ink",
    }),
    `<rect x="${LABEL_END}" y="${y + 2}" width="${rounded(end - LABEL_END)}" height="16" rx="2" class="${kind}"/>`,
    inside
      ? written(text, { x: end - 6, y: y + 14, size: 12, kind: "onbar", anchor: "end" })
      : written(text, { x: end + 6, y: y + 14, size: 12 }),
    ...(ratio === null || Number.isNaN(ratio)
      ? []
      : [
          written(ratio >= 10 ? ratio.toFixed(0) : ratio.toPrecision(2), {
            x: RATIO_END,
            y: y + 14,
            size: 13,
            kind: "ink strong",
            anchor: "end",
          }),
        ]),
  ];
}
