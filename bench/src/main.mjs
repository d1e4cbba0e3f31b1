import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { summarize } from "./figure.mjs";
import { readOptions } from "./options.mjs";
import { findPeers } from "./peers/absurd-schema.mjs";
import { openPlaces } from "./places.mjs";
import { save } from "./save.mjs";
import { runPart } from "./spawn.mjs";
import { pause } from "./stats.mjs";
import { table } from "./table.mjs";
import { workloads } from "./workloads.mjs";

/**
 * Measures in interleaved rounds and judges the medians.
 *
 * @import { Options } from "./options.mjs"
 * @import { Places } from "./places.mjs"
 * @import { Workload } from "./workloads/workload.mjs"
 *
 * @typedef {object} Measured
 * @property {Workload} workload
 * @property {Record<string, any>[]} rounds What each part gave, by its name.
 * @property {string[]} failures
 */

const CACHE = fileURLToPath(new URL("../.cache", import.meta.url));

/** @param {readonly string[]} args @returns {Promise<number>} The exit code. */
export async function main(args) {
  const options = readOptions(args);
  const chosen = workloads(options.store, options).filter(({ name }) => options.only?.has(name) ?? true);
  const places = await openPlaces(options.store, { folder: options.folder ?? CACHE, url: options.url });
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${options.rounds} rounds`;
  console.log(machine);
  const measured = await measureAll(chosen, options.rounds, places);
  const settings = [...(await places.settings()), ...settingsSeen(measured, options)];
  await places.close();
  return report({ measured, settings, options, machine });
}

/** @param {readonly Workload[]} chosen @param {number} rounds @param {Places} places @returns {Promise<Measured[]>} */
async function measureAll(chosen, rounds, places) {
  const measured = chosen.map((workload) => ({ workload, rounds: [], failures: [] }));
  const say = progress(chosen, rounds);
  for (let round = 1; round <= rounds; round += 1) {
    for (const { workload, rounds: done, failures } of measured) {
      if (round > (workload.roundsMax ?? rounds)) continue;
      try {
        done.push(await measureRound(workload, round, places, say));
      } catch (error) {
        failures.push(String(error));
        console.log(`  ${workload.name} failed: ${error}`);
      }
    }
  }
  return measured;
}

/** Says what has been measured, and how much is left. @param {readonly Workload[]} chosen @param {number} rounds */
function progress(chosen, rounds) {
  const all = chosen.reduce(
    (sum, { parts, roundsMax = rounds }) => sum + parts.length * Math.min(rounds, roundsMax),
    0,
  );
  let done = 0;
  return (/** @type {string} */ what) => {
    done += 1;
    const bar = "█".repeat(Math.round((done / all) * 20)).padEnd(20, "·");
    console.log(`  ${bar} ${String(done).padStart(String(all).length)}/${all} ${what}`);
  };
}

/** @param {Workload} workload @param {number} round @param {Places} places @param {(what: string) => void} say */
async function measureRound(workload, round, places, say) {
  /** @type {Record<string, any>} */
  const results = {};
  /** @type {Map<string, import("./place.mjs").Place>} */
  const open = new Map();
  try {
    for (const part of workload.parts) {
      const name = `${workload.name}-${round}-${part.name.split("/")[0]}`;
      const place = open.get(name) ?? (await places.make(name));
      open.set(name, place);
      if (part.afterMs !== undefined) await pause(part.afterMs);
      const startedAt = performance.now();
      results[part.name] = await runPart(part, place);
      const took = ((performance.now() - startedAt) / 1_000).toFixed(1);
      say(`round ${round} ${workload.name} ${part.name} ${took} s`);
    }
  } finally {
    for (const place of open.values()) await places.remove(place);
  }
  return results;
}

/** @param {{ measured: readonly Measured[], settings: readonly string[], options: Options, machine: string }} parts */
function report({ measured, settings, options, machine }) {
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
  console.log(`\nSettings\n${settings.map((line) => `  ${line}`).join("\n")}`);
  const bars = summaries.flatMap(({ figures }) => figures).filter(({ met }) => met !== null);
  const failed = summaries.reduce((count, { failures }) => count + failures.length, 0);
  const met = bars.filter((bar) => bar.met).length;
  for (const file of save({ machine, options, settings, summaries })) console.log(`\nwritten: ${file}`);
  console.log(`\n${met} of ${bars.length} bars met${failed > 0 ? `, ${failed} measurements failed` : ""}`);
  return met === bars.length && failed === 0 ? 0 : 1;
}

/** What each side says of itself. @param {readonly Measured[]} measured @param {Options} options */
function settingsSeen(measured, { store }) {
  const parts = measured.flatMap(({ rounds }) => Object.entries(rounds[0] ?? {}));
  const said = parts.flatMap(([name, { driver, settings }]) =>
    [driver, settings].filter((text) => typeof text === "string").map((text) => `${name}: ${text}`),
  );
  return [...new Set(said), ...(store === "postgres" ? findPeers().notes : [])];
}
