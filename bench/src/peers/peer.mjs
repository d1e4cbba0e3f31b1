/**
 * How every peer is driven, so that all of them are measured by the same code.
 *
 * @typedef {object} Steps What a workflow of the benchmark may do.
 * @property {<T>(name: string, body: () => Promise<T>) => Promise<T>} step
 * @property {() => Promise<unknown>} wait Until something is sent to the run.
 *
 * @typedef {(steps: Steps, input: any) => Promise<unknown>} Flow
 *
 * @typedef {object} Opened
 * @property {string} settings In words.
 * @property {boolean} direct True: a start begins to run at once, in this process. False: a worker takes it from a queue.
 * @property {() => Promise<void>} work Starts the worker, where there is one.
 * @property {(flow: string, input: { id: string }) => Promise<{ result(): Promise<unknown> }>} start
 * @property {(id: string) => Promise<unknown>} send
 * @property {() => Promise<Readonly<Record<string, number>>>} [count] Of a peer with a server of its own; else PostgreSQL counts.
 * @property {() => Promise<number>} [bytes] What it has stored, where that is not in PostgreSQL.
 * @property {() => Promise<void>} stop
 *
 * @typedef {(url: string, options: { inFlight: number, flows: Readonly<Record<string, Flow>> }) => Promise<Opened>} OpenPeer
 */

/** Connections that each peer may use: four times what their drivers open by themselves. */
export const CONNECTIONS = 40;

/** @param {string} name @returns {Promise<OpenPeer>} */
export async function findPeer(name) {
  return (await import(`./${name}.mjs`)).openPeer;
}
