import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { summarize } from "./figure.mjs";
import { readOptions } from "./options.mjs";
import { runPart } from "./spawn.mjs";
import { pause } from "./stats.mjs";
import { table } from "./table.mjs";
import { workloads } from "./workloads.mjs";

/**
 * Measures in interleaved rounds and judges the medians. Databases lie on the file system of this package, because others
 * (a temporary folder in memory) may cost nothing to sync.
 *
 * @import { Workload } from "./workloads.mjs"
 */

const PACKAGE = fileURLToPath(new URL("../", import.meta.url));

/** @param {readonly string[]} args @returns {Promise<number>} The exit code. */
export async function main(args) {
  const names = workloads({ quick: false }).map(({ name }) => name);
  const options = readOptions(args, names);
  const chosen = workloads(options).filter(({ name }) => options.only?.has(name) ?? true);
  const place = options.folder ?? join(PACKAGE, ".cache");
  mkdirSync(place, { recursive: true });
  const folder = mkdtempSync(join(place, "run-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${options.rounds} rounds`);
  const measured = await measureAll(chosen, options.rounds, folder);
  return report(measured, options);
}

/** @param {readonly Workload[]} chosen @param {number} rounds @param {string} folder */
async function measureAll(chosen, rounds, folder) {
  const measured = chosen.map((workload) => ({ workload, rounds: [], failures: [] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { workload, rounds: done, failures } of measured) {
      if (round > (workload.roundsMax ?? rounds)) continue;
      try {
        done.push(await measureRound(workload, round, folder));
      } catch (error) {
        failures.push(String(error));
        console.log(`  ${workload.name} failed: ${error}`);
      }
    }
  }
  return measured;
}

/** @param {Workload} workload @param {number} round @param {string} folder */
async function measureRound(workload, round, folder) {
  /** @type {Record<string, any>} */
  const results = {};
  for (const part of workload.parts) {
    const own = join(folder, `${workload.name}-${round}-${part.name.split("/")[0]}`);
    mkdirSync(own, { recursive: true });
    if (part.afterMs !== undefined) await pause(part.afterMs);
    const startedAt = performance.now();
    results[part.name] = await runPart(part, own);
    console.log(
      `  round ${round} ${workload.name} ${part.name} ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
    );
  }
  for (const part of workload.parts) {
    rmSync(join(folder, `${workload.name}-${round}-${part.name.split("/")[0]}`), { recursive: true, force: true });
  }
  return results;
}

function report(measured, options) {
  const summaries = measured.map(({ workload, rounds, failures }) => ({
    name: workload.name,
    title: workload.title,
    failures,
    figures: rounds.length === 0 ? [] : summarize(rounds.map((results) => workload.figures(results))),
  }));
  for (const { title, figures, failures } of summaries) {
    if (figures.length > 0) console.log(table(title, figures));
    for (const failure of failures) console.log(`\n${title}\n  MISS: ${failure}`);
  }
  const settings = settingsSeen(measured);
  console.log(`\nSettings\n${settings.map((line) => `  ${line}`).join("\n")}`);
  save({
    node: process.version,
    cpus: cpus().length,
    ...options,
    only: [...(options.only ?? [])],
    settings,
    summaries,
  });
  const bars = summaries.flatMap(({ figures }) => figures).filter(({ met }) => met !== null);
  const failed = summaries.reduce((count, { failures }) => count + failures.length, 0);
  const met = bars.filter((bar) => bar.met).length;
  console.log(`\n${met} of ${bars.length} bars met${failed > 0 ? `, ${failed} measurements failed` : ""}`);
  return met === bars.length && failed === 0 ? 0 : 1;
}

/** What each side says of its own connection. */
function settingsSeen(measured) {
  const results = measured.flatMap(({ rounds }) => rounds[0] ?? {});
  const raw = results.find((parts) => parts.raw !== undefined)?.raw;
  const first = results.find((parts) => parts.peer !== undefined);
  return [
    `driver of all: ${raw?.driver ?? "not asked"}`,
    `raw: ${raw?.settings ?? "not asked"}`,
    `pawl: ${first?.counted.settings ?? "not asked"}`,
    `openworkflow 0.10: ${first?.peer.settings ?? "not asked"}`,
  ];
}

function save(result) {
  const results = join(PACKAGE, "results");
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, "latest.json"), `${JSON.stringify(result, null, 2)}\n`);
}
