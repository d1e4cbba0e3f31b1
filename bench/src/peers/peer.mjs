/**
 * The interface of every peer, so that the same code measures all of them.
 *
 * @typedef {object} Steps The operations of a workflow of the benchmark.
 * @property {<T>(name: string, body: () => Promise<T>) => Promise<T>} step
 * @property {() => Promise<unknown>} wait Waits until a message is sent to the run.
 *
 * @typedef {(steps: Steps, input: any) => Promise<unknown>} Flow
 *
 * @typedef {object} Opened
 * @property {string} settings In words.
 * @property {boolean} direct True if a started run executes at once in this process. False if a worker takes it from a queue.
 * @property {() => Promise<void>} work Starts the worker, if there is one.
 * @property {(flow: string, input: { id: string }) => Promise<{ result(): Promise<unknown> }>} start
 * @property {(id: string) => Promise<unknown>} send
 * @property {() => Promise<Readonly<Record<string, number>>>} [count] Counters of a peer with its own server. By default those of PostgreSQL are used.
 * @property {() => Promise<number>} [bytes] The stored bytes of a peer that does not use PostgreSQL.
 * @property {() => Promise<void>} stop
 *
 * @typedef {(url: string, options: { inFlight: number, flows: Readonly<Record<string, Flow>> }) => Promise<Opened>} OpenPeer
 */

/** The maximum number of connections of each peer: four times the default of their drivers. */
export const CONNECTIONS = 40;

/** @param {string} name @returns {Promise<OpenPeer>} */
export async function findPeer(name) {
  return (await import(`./${name}.mjs`)).openPeer;
}
