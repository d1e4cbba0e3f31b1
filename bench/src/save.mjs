import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chart } from "./chart.mjs";

/**
 * Writes what was measured: all workloads with all their rounds go beside the documentation, less goes into a folder that git
 * ignores.
 *
 * @param {{ machine: string, options: import("./options.mjs").Options, settings: readonly string[], summaries: readonly any[] }} result
 * @returns {readonly string[]} The files.
 */
export function save({ machine, options, settings, summaries }) {
  const folder = fileURLToPath(new URL(isWhole(options) ? "../../docs/benchmarks/" : "../results/", import.meta.url));
  const { store, quick, rounds } = options;
  mkdirSync(folder, { recursive: true });
  const [json, svg] = [join(folder, `${store}.json`), join(folder, `${store}.svg`)];
  writeFileSync(json, `${JSON.stringify({ machine, store, quick, rounds, settings, summaries }, null, 2)}\n`);
  writeFileSync(svg, chart({ store, machine, summaries }));
  return [json, svg];
}

/** @param {import("./options.mjs").Options} options */
function isWhole({ only, quick }) {
  return only === null && !quick;
}
