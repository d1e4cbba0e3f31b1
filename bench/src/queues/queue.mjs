/**
 * The interface of every plain queue, so that the same code measures all of them. A job is one call of a function with a small result. A
 * queue has no journal, so a job compares best with a run of one step.
 *
 * @import { Place } from "../place.mjs"
 *
 * @typedef {object} OpenedQueue
 * @property {string} settings In words.
 * @property {(jobs: number) => Promise<void>} fill Adds jobs to the queue, before the worker starts.
 * @property {() => Promise<void>} work Starts the worker.
 * @property {() => Promise<void>} stop
 *
 * @typedef {(place: any, handle: () => Promise<{ ok: true }>) => Promise<OpenedQueue>} OpenQueue
 */

/** The number of jobs per call, for queues that add several at once. */
export const FILLED_AT_A_TIME = 500;

/** @param {string} name @returns {Promise<OpenQueue>} */
export async function findQueue(name) {
  return (await import(`./${name}.mjs`)).openQueue;
}

/** Calls `add` with the numbers of the jobs, in batches. @param {number} jobs @param {(numbers: readonly number[]) => Promise<unknown>} add */
export async function inBatches(jobs, add) {
  for (let first = 0; first < jobs; first += FILLED_AT_A_TIME) {
    await add(Array.from({ length: Math.min(FILLED_AT_A_TIME, jobs - first) }, (_, k) => first + k));
  }
}
