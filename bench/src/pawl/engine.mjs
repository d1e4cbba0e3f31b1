import { statSync } from "node:fs";
import { join } from "node:path";
import { createEngine, memoryStore } from "pawl";
import { postgresStore } from "pawl/postgres";
import { redisStore } from "pawl/redis";
import { sqliteStore } from "pawl/sqlite";
import pg from "pg";
import { unknownPlace } from "../place.mjs";

/**
 * @import { Place } from "../place.mjs"
 */

/** @param {string} folder */
export function databasePath(folder) {
  return join(folder, "pawl.db");
}

/**
 * An engine with default settings, and on SQLite with `synchronous=FULL` by default.
 *
 * @param {Place} place
 * @param {readonly any[]} workflows
 * @param {Record<string, any> & { careless?: boolean, source?: any }} [options] `careless` disables syncs, for parts that
 *   are not measured.
 */
export async function openEngine(place, workflows, options = {}) {
  const { careless = false, source, ...rest } = options;
  return await createEngine({ store: storeOf(place, { careless, source }), workflows, ...rest });
}

/** @param {Place} place @param {{ careless: boolean, source: any }} options */
function storeOf(place, { careless, source }) {
  switch (place.store) {
    case "memory":
      return memoryStore();
    case "sqlite":
      return sqliteStore(source ?? databasePath(place.folder), { synchronous: careless ? "NORMAL" : "FULL" });
    case "postgres":
      return careless
        ? postgresStore(`${place.url}?options=-c%20synchronous_commit%3Doff`, { allowAsyncCommit: true })
        : postgresStore(place.url);
    case "redis":
      return redisStore(place.url, { prefix: place.prefix });
    default:
      throw unknownPlace(place);
  }
}

/** The size of the database. On SQLite call it after shutdown, when the WAL is merged. @param {Place} place @returns {Promise<number>} */
export async function databaseBytes(place) {
  switch (place.store) {
    case "sqlite":
      return statSync(databasePath(place.folder)).size;
    case "postgres":
      return await postgresBytes(place.url);
    case "memory":
    case "redis":
      return Number.NaN;
    default:
      throw unknownPlace(place);
  }
}

/** The size without that of an empty database. @param {string} url */
export async function postgresBytes(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    "SELECT (pg_database_size(current_database()) - pg_database_size('template1'))::float8 AS bytes",
  );
  await client.end();
  return rows[0].bytes;
}
