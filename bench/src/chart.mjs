import { shown } from "./figure.mjs";

/**
 * One picture of a run: throughput as bars, on a scale on which each line is ten times the one before, and what the bars demand
 * as a list beside it.
 *
 * @import { Summary } from "./figure.mjs"
 */

const WIDTH = 760;
const LABEL = 300;
const ROW = 26;
const SIGNS = { atLeast: "≥", atMost: "≤", below: "<" };

/** @param {{ store: string, machine: string, summaries: readonly { name: string, figures: readonly Summary[] }[] }} run */
export function chart({ store, machine, summaries }) {
  const rates = (summaries.find(({ name }) => name === "W1")?.figures ?? []).filter(({ unit }) => unit === "count");
  const bars = barsOf(rates, 60);
  const judged = summaries.flatMap(({ name, figures }) => judgedOf(name, figures));
  const list = listOf(judged, 60 + rates.length * ROW + 50);
  const height = 60 + rates.length * ROW + 70 + judged.length * 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13">
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
<text x="16" y="26" font-size="16" font-weight="bold">W1 on ${escaped(store)}, a second (logarithmic)</text>
<text x="16" y="44" fill="#666" font-size="11">${escaped(machine)}</text>
${[...bars, ...list].join("\n")}
</svg>
`;
}

/** @param {readonly Summary[]} rates @param {number} top @returns {readonly string[]} */
function barsOf(rates, top) {
  const most = Math.log10(Math.max(...rates.map(({ median }) => median), 10));
  return rates.flatMap(({ name, unit, median }, index) => {
    const y = top + index * ROW;
    const width = Math.max(2, (Math.log10(Math.max(median, 1)) / most) * (WIDTH - LABEL - 100));
    const fill = name.startsWith("pawl") ? "#2a6fdb" : name.startsWith("raw") ? "#bbb" : "#d98032";
    return [
      `<text x="16" y="${y + 14}">${escaped(name)}</text>`,
      `<rect x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="18" fill="${fill}"/>`,
      `<text x="${(LABEL + width + 6).toFixed(1)}" y="${y + 14}">${shown(median, unit)}</text>`,
    ];
  });
}

/** Figures with a bar, each with the name of the line that it is a part of. @param {string} workload @param {readonly Summary[]} figures */
function judgedOf(workload, figures) {
  let whole = "";
  return figures.flatMap((figure) => {
    const isPart = figure.name.startsWith("  ");
    if (!isPart) whole = figure.name;
    const name = isPart ? `${whole},${figure.name.slice(1)}` : figure.name;
    return figure.bar === null ? [] : [{ ...figure, name: `${workload}: ${name}` }];
  });
}

/** @param {readonly Summary[]} judged @param {number} top @returns {readonly string[]} */
function listOf(judged, top) {
  return judged.map(({ name, unit, median, bar, met }, index) => {
    const wanted = bar === null ? "" : `${SIGNS[bar.kind]} ${shown(bar.limit, unit)}`;
    const color = met ? "#1b7f3b" : "#b3261e";
    return `<text x="16" y="${top + index * 20}">${escaped(`${name}: ${shown(median, unit)}`)} <tspan fill="${color}">(${escaped(wanted)})</tspan></text>`;
  });
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
