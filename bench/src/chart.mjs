import { shown, shownGoal } from "./figure.mjs";

/**
 * One picture of a run: throughput of each store as bars, on a scale on which each line is ten times the one before, and below it
 * what was wanted and what came out.
 *
 * @import { Summary } from "./figure.mjs"
 *
 * @typedef {{ store: string, name: string, title: string, figures: readonly Summary[] }} Measured
 */

const WIDTH = 860;
const LABEL = 330;
const ROW = 24;
const LINE = 19;
const TOP = 58;
/** The workloads whose rates are drawn. */
const DRAWN = ["W1", "queues", "B1"];

/** @param {{ machine: string, summaries: readonly Measured[] }} run */
export function chart({ machine, summaries }) {
  const drawn = summaries.filter(({ name, figures }) => DRAWN.includes(name) && ratesOf(figures).length > 0);
  const most = Math.max(10, ...drawn.flatMap(({ figures }) => ratesOf(figures).map(({ median }) => median)));
  const parts = [];
  let y = TOP;
  for (const { store, title, figures } of drawn) {
    parts.push(heading(`${store} · ${title}`, y));
    const rows = ratesOf(figures);
    parts.push(...linesOf(y + 8, rows.length * ROW, most), ...barsOf(rows, y + 10, most));
    y += 10 + rows.length * ROW + 34;
  }
  parts.push(heading("What was wanted (bar of the release, then target)", y));
  const judged = summaries.flatMap(judgedOf);
  parts.push(...judged.map((figure, index) => lineOf(figure, y + 22 + index * LINE)));
  const height = y + 34 + judged.length * LINE;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
<text x="16" y="24" font-size="16" font-weight="bold">A second, on a logarithmic scale</text>
<text x="16" y="40" fill="#666" font-size="11">${escaped(machine)}</text>
${parts.join("\n")}
</svg>
`;
}

/** @param {readonly Summary[]} figures */
function ratesOf(figures) {
  return figures.filter(({ name, unit, median }) => unit === "count" && !name.startsWith("  ") && median > 0);
}

/** @param {string} text @param {number} y */
function heading(text, y) {
  return `<text x="16" y="${y}" font-weight="bold">${escaped(text)}</text>`;
}

/** Where a rate ends. @param {number} rate @param {number} most */
function place(rate, most) {
  return LABEL + (Math.log10(Math.max(rate, 1)) / Math.log10(most)) * (WIDTH - LABEL - 110);
}

/** A line for each power of ten, with its name below. @param {number} top @param {number} height @param {number} most @returns {readonly string[]} */
function linesOf(top, height, most) {
  return Array.from({ length: Math.floor(Math.log10(most)) + 1 }, (_, power) => {
    const x = place(10 ** power, most).toFixed(1);
    return `<line x1="${x}" x2="${x}" y1="${top}" y2="${top + height}" stroke="#ddd"/><text x="${x}" y="${top + height + 11}" fill="#888" font-size="9" text-anchor="middle">${(10 ** power).toLocaleString("en-US")}</text>`;
  });
}

/** @param {readonly Summary[]} rates @param {number} top @param {number} most @returns {readonly string[]} */
function barsOf(rates, top, most) {
  return rates.flatMap(({ name, unit, median }, index) => {
    const y = top + index * ROW;
    const width = Math.max(2, place(median, most) - LABEL);
    const fill = name.startsWith("pawl") ? "#2a6fdb" : name.startsWith("raw") ? "#bbb" : "#d98032";
    return [
      `<text x="24" y="${y + 14}">${escaped(name)}</text>`,
      `<rect x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="17" fill="${fill}"/>`,
      `<text x="${(LABEL + width + 6).toFixed(1)}" y="${y + 14}">${shown(median, unit)}</text>`,
    ];
  });
}

/** Figures with a goal, each with the name of the line that it is a part of. @param {Measured} measured */
function judgedOf({ store, name: workload, figures }) {
  let whole = "";
  return figures.flatMap((figure) => {
    const isPart = figure.name.startsWith("  ");
    if (!isPart) whole = figure.name;
    const name = isPart ? `${whole},${figure.name.slice(1)}` : figure.name;
    return figure.goals === null ? [] : [{ ...figure, name: `${store} ${workload}: ${name}` }];
  });
}

/** @param {Summary} figure @param {number} y */
function lineOf({ name, unit, median, goals, barMet, targetMet }, y) {
  const goal = (which, met) =>
    met === null
      ? ""
      : ` <tspan fill="${met ? "#1b7f3b" : "#b3261e"}">${escaped(`(${which} ${shownGoal(goals, which, unit)})`)}</tspan>`;
  return `<text x="24" y="${y}">${escaped(`${name}: ${shown(median, unit)}`)}${goal("bar", barMet)}${goal("target", targetMet)}</text>`;
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
