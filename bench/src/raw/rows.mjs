import { unknownPlace } from "../place.mjs";
import { openPostgresRows } from "./postgres-rows.mjs";
import { openRedisRows } from "./redis-rows.mjs";
import { openSqliteRows } from "./sqlite-rows.mjs";

/**
 * @import { Place } from "../place.mjs"
 *
 * @typedef {object} Rows A plain table with rows like those of a journal. A "commit" writes one such row, durably.
 * @property {() => number | Promise<number>} commit Returns the duration in ms.
 * @property {() => void | Promise<void>} close
 */

/** @param {Place} place @returns {Promise<Rows>} */
export async function openRows(place) {
  switch (place.store) {
    case "sqlite": {
      const { commit, close } = openSqliteRows(place.folder);
      return { commit: () => commit(1), close };
    }
    case "postgres": {
      const { commit, close } = await openPostgresRows(place.url);
      return { commit, close };
    }
    case "redis": {
      const { commit, close } = await openRedisRows(place);
      return { commit: () => commit(1), close };
    }
    default:
      throw unknownPlace(place);
  }
}
