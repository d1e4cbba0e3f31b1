import { barsOf, panel } from "./chart-bars.mjs";
import { fitted, written } from "./chart-text.mjs";
import { shown, shownGoal } from "./figure.mjs";

/**
 * The chart of a benchmark, for light and dark backgrounds: throughput of each store as bars, and below it the goals with the results.
 *
 * @import { Summary } from "./figure.mjs"
 *
 * @typedef {{ store: string, name: string, title: string, figures: readonly Summary[] }} Measured
 */

const WIDTH = 960;
const LEFT = 24;
const LINE = 19;
/** The right ends of the columns of the goals. */
const COLUMNS = { name: 560, figure: 660, bar: 800, target: 936 };
/** The workloads whose rates are drawn. */
const DRAWN = ["W1", "W1c", "queues", "B1"];
const STORES = { memory: "Memory", sqlite: "SQLite", postgres: "PostgreSQL", redis: "Redis", bpmn: "BPMN" };

const STYLE = `svg { color-scheme: light dark; font-family: system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
.ground { fill: #ffffff; } .ink { fill: #1f2328; } .soft { fill: #636c76; } .strong { font-weight: 600; } .onbar { fill: #ffffff; }
.grid { stroke: #d8dee4; } .pawl { fill: #2563c9; } .raw { fill: #9aa4af; } .peer { fill: #c96a1b; }
.met { fill: #1a7f37; } .missed { fill: #cf222e; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; } .ink { fill: #e6edf3; } .soft { fill: #9198a1; } .onbar { fill: #0d1117; }
.grid { stroke: #30363d; } .pawl { fill: #58a6ff; } .raw { fill: #6e7681; } .peer { fill: #e3954f; }
.met { fill: #3fb950; } .missed { fill: #ff7b72; }
}`;

/** @param {{ machine: string, summaries: readonly Measured[] }} run */
export function chart({ machine, summaries }) {
  const head = [
    written("Pawl beside bare stores and other engines", { x: LEFT, y: 34, size: 20, kind: "ink strong" }),
    written(fitted(machine, 12, WIDTH - 2 * LEFT), { x: LEFT, y: 54, size: 12, kind: "soft" }),
    ...legend(76),
  ];
  const panels = panelsOf(summaries, 110);
  const goals = goalsOf(summaries, panels.end);
  const height = goals.end + 16;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>Pawl beside bare stores and other engines</title>
<style>${STYLE}</style>
<rect width="${WIDTH}" height="${height}" class="ground"/>
${[...head, ...panels.parts, ...goals.parts].join("\n")}
</svg>
`;
}

/** @param {number} y @returns {readonly string[]} */
function legend(y) {
  const kinds = /** @type {const} */ ([
    ["pawl", "Pawl"],
    ["raw", "the same store, bare"],
    ["peer", "other engines and queues, the better of their settings"],
  ]);
  let x = LEFT;
  return kinds.flatMap(([kind, text]) => {
    const at = x;
    x += 40 + text.length * 7;
    return [
      `<rect x="${at}" y="${y - 10}" width="12" height="12" rx="2" class="${kind}"/>`,
      written(text, { x: at + 18, y, size: 12 }),
    ];
  });
}

/** @param {readonly Measured[]} summaries @param {number} top */
function panelsOf(summaries, top) {
  let y = top;
  const parts = summaries.flatMap(({ store, name, title, figures }) => {
    const bars = DRAWN.includes(name) ? barsOf(figures) : [];
    if (bars.length === 0) return [];
    const heading = written(fitted(`${STORES[store] ?? store} · ${title}`, 14, WIDTH - 2 * LEFT), {
      x: LEFT,
      y,
      size: 14,
      kind: "ink strong",
    });
    const drawn = panel(bars, y + 12);
    y += 12 + drawn.height + 30;
    return [heading, drawn.svg];
  });
  return { parts, end: y };
}

/** The goals, by store. @param {readonly Measured[]} summaries @param {number} top */
function goalsOf(summaries, top) {
  const judged = summaries.flatMap(judgedOf);
  if (judged.length === 0) return { parts: [], end: top };
  let y = top + 6;
  const head = (/** @type {string} */ text, /** @type {number} */ x) =>
    written(text, { x, y, size: 11, kind: "soft", anchor: "end" });
  const parts = [
    written("Goals and results", { x: LEFT, y, size: 14, kind: "ink strong" }),
    head("median", COLUMNS.figure),
    head("bar of a release", COLUMNS.bar),
    head("target", COLUMNS.target),
  ];
  let store = "";
  for (const figure of judged) {
    if (figure.store !== store) {
      y += LINE + 6;
      store = figure.store;
      parts.push(written(STORES[store] ?? store, { x: LEFT, y, kind: "ink strong" }));
    }
    y += LINE;
    parts.push(...lineOf(figure, y));
  }
  return { parts, end: y };
}

/** Figures with a goal, each with the name of its main line. @param {Measured} measured */
function judgedOf({ store, name: workload, figures }) {
  let whole = "";
  return figures.flatMap((figure) => {
    const isPart = figure.name.startsWith("  ");
    if (!isPart) whole = figure.name;
    const name = isPart ? `${whole},${figure.name.slice(1)}` : figure.name;
    return figure.goals === null ? [] : [{ ...figure, store, name: `${workload} ${name}` }];
  });
}

/** @param {Summary & { store: string }} figure @param {number} y @returns {readonly string[]} */
function lineOf({ name, unit, median, goals, barMet, targetMet }, y) {
  const goal = (/** @type {"bar" | "target"} */ which, /** @type {boolean | null} */ met) =>
    met === null
      ? []
      : [
          written(`${shownGoal(goals, which, unit)} ${met ? "✓" : "✗"}`, {
            x: COLUMNS[which],
            y,
            size: 12,
            kind: met ? "met" : "missed",
            anchor: "end",
          }),
        ];
  return [
    written(fitted(name, 12, COLUMNS.name - LEFT - 10), { x: LEFT + 10, y, size: 12 }),
    written(shown(median, unit), { x: COLUMNS.figure, y, size: 12, kind: "ink strong", anchor: "end" }),
    ...goal("bar", barMet),
    ...goal("target", targetMet),
  ];
}
