import { shown, shownGoal } from "./figure.mjs";

/**
 * @import { Summary } from "./figure.mjs"
 */

/** A longer name shifts only its own row. */
const WIDTH_MAX = 60;

/** @param {string} title @param {readonly Summary[]} summaries @returns {string} */
export function table(title, summaries) {
  const rows = summaries.map(({ name, unit, median, spread, values, failures, goals, barMet, targetMet }) => [
    `${name}${failed(failures, values.length)}`,
    shown(median, unit),
    values.length > 1 && !Number.isNaN(spread) ? `±${(spread * 100).toFixed(0)} %` : "",
    shownGoal(goals, "bar", unit),
    verdict(barMet),
    shownGoal(goals, "target", unit),
    verdict(targetMet),
  ]);
  const header = ["", "median", "spread", "bar", "", "target", ""];
  const widths = header.map((_, column) =>
    Math.max(...[header, ...rows].map((row) => row[column].length).filter((width) => width <= WIDTH_MAX)),
  );
  const line = (row) =>
    `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  ")}`.trimEnd();
  return [`\n${title}`, ...[header, ...rows].map(line)].join("\n");
}

/** @param {readonly string[]} failures @param {number} rounds */
function failed(failures, rounds) {
  if (failures.length === 0) return "";
  return ` (failed${failures.length < rounds ? ` in ${failures.length} of ${rounds} rounds` : ""}: ${failures[0]})`;
}

/** @param {boolean | null} met */
function verdict(met) {
  return met === null ? "" : met ? "pass" : "MISS";
}
