import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { summarize } from "./figure.mjs";
import { omittedPeers } from "./peers/available.mjs";
import { openPlaces } from "./places.mjs";
import { measureAll } from "./rounds.mjs";
import { save } from "./save.mjs";
import { handleSignals, INTERRUPTED, Interrupted, isInterrupted } from "./spawn.mjs";
import { table } from "./table.mjs";

/**
 * Measures in interleaved rounds and compares the medians with the goals.
 *
 * @import { Options } from "./options.mjs"
 * @import { Places } from "./places.mjs"
 * @import { Measured } from "./rounds.mjs"
 */

/** Above this load, in cores, the host counts as busy. */
const LOAD_MAX = 0.5;
const BUSY = "the host is busy with other work; times will be too long, and ratios unstable";

const CACHE = fileURLToPath(new URL("../.cache", import.meta.url));

/** @param {Options} options @returns {Promise<number>} The exit code. */
export async function measure(options) {
  handleSignals();
  const { stores, rounds } = options;
  const [load] = loadavg();
  const isBusy = load > cpus().length * LOAD_MAX;
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, load ${load.toFixed(1)} at the start${isBusy ? ", busy with other work" : ""}, ${rounds} ${rounds === 1 ? "round" : "rounds"}`;
  console.log(machine);
  if (isBusy) console.log(BUSY);
  /** @type {Map<string, Places>} */
  const places = new Map();
  try {
    for (const store of stores) {
      places.set(store, await openPlaces(store, { folder: options.folder ?? CACHE, url: options.urls[store] ?? null }));
    }
    const measured = await measureAll(options, places);
    const settings = settingsSeen(measured, options);
    for (const [store, each] of places) {
      settings.unshift(...(await each.settings()).map((line) => `${store}: ${line}`));
    }
    return report({ measured, settings, options, machine });
  } catch (error) {
    if (!isInterrupted()) throw error;
    console.log(`\n${new Interrupted().message}`);
    return INTERRUPTED;
  } finally {
    await Promise.allSettled([...places.values()].map((each) => each.close()));
  }
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
    for (const failure of failures)
      console.log(`${figures.length > 0 ? "" : `\n${store} · ${title}\n`}  MISS: ${failure}`);
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

/** The settings of each side, and the reasons for missing peers. @param {readonly Measured[]} measured @param {Options} options */
function settingsSeen(measured, { stores }) {
  const lines = measured.flatMap(({ store, rounds }) =>
    Object.entries(rounds[0] ?? {}).flatMap(([name, { driver, settings }]) =>
      (name.endsWith("After") ? [] : [driver, settings])
        .filter((text) => typeof text === "string")
        .map((text) => `${store}, ${name}: ${text}`),
    ),
  );
  return [...new Set(lines), ...stores.flatMap(omittedPeers)];
}
