import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chart } from "./chart.mjs";

/** Fewer have no spread to speak of. */
const ROUNDS_LEAST = 3;

/**
 * Writes what was measured: all workloads with all their rounds go beside the documentation, less goes into a folder that git
 * ignores, and `--out` names another one.
 *
 * @param {{ machine: string, options: import("./options.mjs").Options, settings: readonly string[], summaries: readonly any[] }} result
 * @returns {readonly string[]} The files.
 */
export function save({ machine, options, settings, summaries }) {
  const { stores, name, quick, rounds, out } = options;
  const folder =
    out ?? fileURLToPath(new URL(isWhole(options) ? "../../docs/benchmarks/" : "../results/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const [json, svg] = [join(folder, `${name}.json`), join(folder, `${name}.svg`)];
  writeFileSync(json, `${JSON.stringify({ machine, stores, quick, rounds, settings, summaries }, null, 2)}\n`);
  writeFileSync(svg, chart({ machine, summaries }));
  return [json, svg];
}

/** Whether it may stand beside the documentation. @param {Pick<import("./options.mjs").Options, "only" | "quick" | "rounds">} options */
export function isWhole({ only, quick, rounds }) {
  return only === null && !quick && rounds >= ROUNDS_LEAST;
}
