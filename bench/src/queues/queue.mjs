/**
 * How every plain queue is driven, so that all of them are measured by the same code. A job is one call of a function that gives a
 * small result: a queue keeps no journal, so a job is not a step, and what comes nearest to it is a run of one step.
 *
 * @import { Place } from "../place.mjs"
 *
 * @typedef {object} OpenedQueue
 * @property {string} settings In words.
 * @property {(jobs: number) => Promise<void>} fill Puts so many jobs into the queue, before anybody works.
 * @property {() => Promise<void>} work Starts the worker.
 * @property {() => Promise<void>} stop
 *
 * @typedef {(place: any, handle: () => Promise<{ ok: true }>) => Promise<OpenedQueue>} OpenQueue
 */

/** How many jobs are put into a queue by one call, where a call takes several. */
export const FILLED_AT_A_TIME = 500;

/** @param {string} name @returns {Promise<OpenQueue>} */
export async function findQueue(name) {
  return (await import(`./${name}.mjs`)).openQueue;
}

/** Calls `add` with the numbers of the jobs, so many at a time. @param {number} jobs @param {(numbers: readonly number[]) => Promise<unknown>} add */
export async function inBatches(jobs, add) {
  for (let first = 0; first < jobs; first += FILLED_AT_A_TIME) {
    await add(Array.from({ length: Math.min(FILLED_AT_A_TIME, jobs - first) }, (_, k) => first + k));
  }
}
