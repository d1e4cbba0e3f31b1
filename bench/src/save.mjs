import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chart } from "./chart.mjs";

/** Fewer rounds have no meaningful spread. */
const ROUNDS_LEAST = 3;

/**
 * Writes the results. A complete benchmark goes beside the documentation, an incomplete one into a folder that git ignores. `--out`
 * names another folder.
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

/** True if all workloads were measured with enough rounds. @param {Pick<import("./options.mjs").Options, "only" | "quick" | "rounds">} options */
export function isWhole({ only, quick, rounds }) {
  return only === null && !quick && rounds >= ROUNDS_LEAST;
}
