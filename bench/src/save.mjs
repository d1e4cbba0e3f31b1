import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chart } from "./chart.mjs";

/**
 * Writes what was measured: a run of all workloads goes beside the documentation, a part of them into a folder that git ignores.
 *
 * @param {{ machine: string, options: import("./options.mjs").Options, settings: readonly string[], summaries: readonly any[] }} result
 * @returns {readonly string[]} The files.
 */
export function save({ machine, options, settings, summaries }) {
  const folder = fileURLToPath(
    new URL(options.only === null ? "../../docs/benchmarks/" : "../results/", import.meta.url),
  );
  const { store, quick, rounds } = options;
  mkdirSync(folder, { recursive: true });
  const [json, svg] = [join(folder, `${store}.json`), join(folder, `${store}.svg`)];
  writeFileSync(json, `${JSON.stringify({ machine, store, quick, rounds, settings, summaries }, null, 2)}\n`);
  writeFileSync(svg, chart({ store, machine, summaries }));
  return [json, svg];
}
