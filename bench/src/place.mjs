/**
 * Where the data of one part lies, so that no part meets what another left behind: a folder, a database of the server, or a
 * prefix of its keys.
 *
 * @typedef {{ readonly store: "sqlite", readonly folder: string }} SqlitePlace
 * @typedef {{ readonly store: "postgres", readonly url: string }} PostgresPlace
 * @typedef {{ readonly store: "redis", readonly url: string, readonly prefix: string }} RedisPlace
 * @typedef {{ readonly store: "memory" }} MemoryPlace
 * @typedef {MemoryPlace | SqlitePlace | PostgresPlace | RedisPlace} Place
 */

/** @param {never} place @returns {Error} */
export function unknownPlace(place) {
  return new Error(`there is no place like ${JSON.stringify(place)}`);
}
