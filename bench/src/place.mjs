/**
 * The location of the data of one part: a folder, a database of the server, or a key prefix. Parts do not see each other's data.
 *
 * @typedef {{ readonly store: "sqlite", readonly folder: string }} SqlitePlace
 * @typedef {{ readonly store: "postgres", readonly url: string }} PostgresPlace
 * @typedef {{ readonly store: "redis", readonly url: string, readonly prefix: string }} RedisPlace
 * @typedef {{ readonly store: "memory" }} MemoryPlace
 * @typedef {MemoryPlace | SqlitePlace | PostgresPlace | RedisPlace} Place
 */

/** @param {never} place @returns {Error} */
export function unknownPlace(place) {
  return new Error(`unknown place ${JSON.stringify(place)}`);
}
