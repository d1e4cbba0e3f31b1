import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { summarize } from "./figure.mjs";
import { OptionError, readOptions } from "./options.mjs";
import { leftOut } from "./peers/available.mjs";
import { openPlaces } from "./places.mjs";
import { progress } from "./progress.mjs";
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
 * @property {string} store
 * @property {Workload} workload
 * @property {Record<string, any>[]} rounds What each part gave, by its name.
 * @property {string[]} failures
 */

/** Of a core: above this the machine has other work. */
const LOAD_MAX = 0.5;
const BUSY = "the machine has other work: whatever is timed will seem slower than it is, and ratios wander";

const CACHE = fileURLToPath(new URL("../.cache", import.meta.url));

/** @param {readonly string[]} args @returns {Promise<number>} The exit code. */
export async function main(args) {
  try {
    return await measure(readOptions(args));
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(error.message);
    return 2;
  }
}

/** @param {Options} options @returns {Promise<number>} */
async function measure(options) {
  const { stores, rounds } = options;
  const [load] = loadavg();
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, load ${load.toFixed(1)} at the start, ${rounds} ${rounds === 1 ? "round" : "rounds"}`;
  console.log(machine);
  if (load > cpus().length * LOAD_MAX) console.log(BUSY);
  /** @type {Map<string, Places>} */
  const places = new Map();
  for (const store of stores) {
    places.set(store, await openPlaces(store, { folder: options.folder ?? CACHE, url: options.urls[store] ?? null }));
  }
  const measured = await measureAll(options, places);
  const settings = settingsSeen(measured, options);
  for (const [store, each] of places) {
    settings.unshift(...(await each.settings()).map((line) => `${store}: ${line}`));
    await each.close();
  }
  return report({ measured, settings, options, machine });
}

/** @param {Options} options @param {ReadonlyMap<string, Places>} places @returns {Promise<Measured[]>} */
async function measureAll({ stores, rounds, only, quick, brief }, places) {
  /** @type {Measured[]} */
  const measured = stores.flatMap((store) =>
    workloads(store, { quick, brief })
      .filter(({ name }) => only?.has(name) ?? true)
      .map((workload) => ({ store, workload, rounds: [], failures: [] })),
  );
  const roundsOf = ({ roundsMax = rounds }) => Math.min(rounds, roundsMax);
  const { say, note } = progress(
    measured.reduce((sum, { workload }) => sum + workload.parts.length * roundsOf(workload), 0),
  );
  for (let round = 1; round <= rounds; round += 1) {
    for (const { store, workload, rounds: done, failures } of measured) {
      if (round > roundsOf(workload)) continue;
      try {
        const said = (/** @type {string} */ what) => say(`round ${round} ${store} ${workload.name} ${what}`);
        done.push(await measureRound(workload, round, places.get(store), said));
      } catch (error) {
        failures.push(String(error));
        note(`  ${store} ${workload.name} failed: ${error}`);
      }
    }
  }
  return measured;
}

/** @param {Workload} workload @param {number} round @param {Places | undefined} places @param {(what: string) => void} say */
async function measureRound(workload, round, places, say) {
  if (places === undefined) throw new Error(`there is no place for ${workload.name}`);
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
      say(`${part.name} ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
    }
  } finally {
    for (const place of open.values()) await places.remove(place);
  }
  return results;
}

/** @param {{ measured: readonly Measured[], settings: readonly string[], options: Options, machine: string }} parts */
function report({ measured, settings, options, machine }) {
  const summaries = measured.map(({ store, workload, rounds, failures }) => ({
    store,
    name: workload.name,
    title: workload.title,
    failures,
    figures: rounds.length === 0 ? [] : summarize(rounds.map((results) => workload.figures(results))),
  }));
  for (const { store, title, figures, failures } of summaries) {
    if (figures.length > 0) console.log(table(`${store} · ${title}`, figures));
    for (const failure of failures) console.log(`\n${store} · ${title}\n  MISS: ${failure}`);
  }
  console.log(`\nSettings\n${settings.map((line) => `  ${line}`).join("\n")}`);
  const figures = summaries.flatMap((summary) => summary.figures);
  const bars = figures.flatMap(({ barMet }) => (barMet === null ? [] : [barMet]));
  const targets = figures.flatMap(({ targetMet }) => (targetMet === null ? [] : [targetMet]));
  const failed = summaries.reduce((count, { failures }) => count + failures.length, 0);
  const [met, reached] = [bars, targets].map((all) => all.filter(Boolean).length);
  for (const file of save({ machine, options, settings, summaries })) console.log(`\nwritten: ${file}`);
  const rest = failed > 0 ? `, ${failed} measurements failed` : "";
  console.log(`\n${met} of ${bars.length} bars met, ${reached} of ${targets.length} targets reached${rest}`);
  return met === bars.length && failed === 0 ? 0 : 1;
}

/** What each side says of itself, and why some are missing. @param {readonly Measured[]} measured @param {Options} options */
function settingsSeen(measured, { stores }) {
  const said = measured.flatMap(({ store, rounds }) =>
    Object.entries(rounds[0] ?? {}).flatMap(([name, { driver, settings }]) =>
      (name.endsWith("After") ? [] : [driver, settings])
        .filter((text) => typeof text === "string")
        .map((text) => `${store}, ${name}: ${text}`),
    ),
  );
  return [...new Set(said), ...stores.flatMap(leftOut)];
}
