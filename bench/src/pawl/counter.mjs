import { findDriver, settingsOf } from "../driver.mjs";
import { unknownPlace } from "../place.mjs";
import { openPostgresCounter } from "../postgres-counter.mjs";
import { openRedisCounter } from "../redis-counter.mjs";
import { counted } from "./counted.mjs";
import { databasePath } from "./engine.mjs";

/**
 * Counts the statements of the database. Servers have counters. A SQLite driver is wrapped, which is too slow for timing, so it is done
 * only if `counting` is set.
 *
 * @import { Place } from "../place.mjs"
 *
 * @typedef {object} Counter
 * @property {() => Promise<Readonly<Record<string, number>>>} read
 * @property {Readonly<Record<string, any>>} engineOptions
 * @property {() => string | null} settings
 * @property {() => Promise<void>} close
 */

/** @param {Place} place @param {boolean} counting @returns {Promise<Counter>} */
export async function openCounter(place, counting) {
  switch (place.store) {
    case "memory":
      return NOTHING;
    case "sqlite":
      return counting ? sqliteCounter(place.folder) : NOTHING;
    case "postgres":
      return { ...NOTHING, ...(await openPostgresCounter(place.url)) };
    case "redis":
      return { ...NOTHING, ...(await openRedisCounter(place.url)) };
    default:
      throw unknownPlace(place);
  }
}

/** @type {Counter} */
const NOTHING = {
  read: async () => ({}),
  engineOptions: {},
  settings: () => null,
  close: async () => undefined,
};

/** @param {string} folder @returns {Counter} */
function sqliteCounter(folder) {
  const database = new (findDriver().DatabaseSync)(databasePath(folder));
  const { counts, source } = counted(database);
  return {
    read: async () => ({ ...counts }),
    engineOptions: { source },
    settings: () => settingsOf(database),
    close: async () => database.close(),
  };
}
