import { shown } from "./figure.mjs";

/**
 * @import { Summary } from "./figure.mjs"
 */

const SIGNS = { atLeast: "≥", atMost: "≤", below: "<" };

/** @param {string} title @param {readonly Summary[]} summaries @returns {string} */
export function table(title, summaries) {
  const rows = summaries.map(({ name, unit, median, spread, values, bar, met }) => [
    name,
    shown(median, unit),
    values.length > 1 ? `±${(spread * 100).toFixed(0)} %` : "",
    bar === null ? "" : `${SIGNS[bar.kind]} ${shown(bar.limit, unit)}`,
    met === null ? "" : met ? "pass" : "MISS",
  ]);
  const header = ["", "median", "spread", "bar", ""];
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column].length)));
  const line = (row) =>
    `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  ")}`.trimEnd();
  return [`\n${title}`, ...[header, ...rows].map(line)].join("\n");
}
