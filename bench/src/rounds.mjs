import { progress } from "./progress.mjs";
import { isInterrupted, runPart } from "./spawn.mjs";
import { pause } from "./stats.mjs";
import { workloads } from "./workloads.mjs";

/**
 * The interleaved rounds. Each round measures all parts of all workloads, one after another.
 *
 * @import { Options } from "./options.mjs"
 * @import { Place } from "./place.mjs"
 * @import { Places } from "./places.mjs"
 * @import { Workload } from "./workloads/workload.mjs"
 *
 * @typedef {object} Measured
 * @property {string} store
 * @property {Workload} workload
 * @property {Record<string, any>[]} rounds The results of the parts, by name.
 * @property {string[]} failures
 */

/** @param {Options} options @param {ReadonlyMap<string, Places>} places @returns {Promise<Measured[]>} */
export async function measureAll({ stores, rounds, only, quick, brief }, places) {
  /** @type {Measured[]} */
  const measured = stores.flatMap((store) =>
    workloads(store, { quick, brief })
      .filter(({ name, parts }) => parts.length > 0 && (only?.has(name) ?? true))
      .map((workload) => ({ store, workload, rounds: [], failures: [] })),
  );
  const plan = Array.from({ length: rounds }, (_, index) =>
    measured.filter(({ workload: { roundsMax = rounds } }) => index < roundsMax),
  );
  const partsOf = ({ store, workload }) => workload.parts.map(({ name }) => `${store} ${workload.name} ${name}`);
  const { measuredPart: showPart, skip, note } = progress(plan.flatMap((round) => round.flatMap(partsOf)));
  for (const [index, round] of plan.entries()) {
    for (const each of round) {
      const { store, workload, failures } = each;
      const at = `round ${index + 1} ${store} ${workload.name}`;
      let left = workload.parts.length;
      const measuredPart = (/** @type {string} */ part) => {
        left -= 1;
        showPart(`${at} ${part}`);
      };
      const failed = (/** @type {string} */ failure) => {
        failures.push(`round ${index + 1}: ${failure}`);
        note(`  ${at} failed: ${failure}`);
      };
      try {
        each.rounds.push(await measureRound(workload, index + 1, places.get(store), { measuredPart, failed }));
      } catch (error) {
        if (isInterrupted()) throw error;
        failed(error.message);
        skip(left);
      }
    }
  }
  return measured;
}

/**
 * A failed part of a peer does not fail the round.
 *
 * @param {Workload} workload @param {number} round @param {Places | undefined} places
 * @param {{ measuredPart: (part: string) => void, failed: (failure: string) => void }} listeners
 */
export async function measureRound(workload, round, places, { measuredPart, failed }) {
  if (places === undefined) throw new Error(`no places for workload ${workload.name}`);
  /** @type {Record<string, any>} */
  const results = {};
  /** @type {Map<string, Place>} */
  const open = new Map();
  try {
    for (const part of workload.parts) {
      const name = `${workload.name}-${round}-${part.name.split("/")[0]}`;
      const place = open.get(name) ?? (await places.make(name));
      open.set(name, place);
      if (part.afterMs !== undefined) await pause(part.afterMs);
      const startedAt = performance.now();
      try {
        results[part.name] = await runPart(part, place);
      } catch (error) {
        if (part.peer !== true || isInterrupted()) throw error;
        results[part.name] = { failure: error.message };
        failed(error.message);
      }
      measuredPart(`${part.name} ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
    }
  } finally {
    for (const place of open.values()) await places.remove(place);
  }
  return results;
}
