import { createRequire } from "node:module";

/** Pawl rejects drivers below this version, so both sides of every ratio use the same one. */
const VERSION_MIN = [3, 51, 3];
const require = createRequire(import.meta.url);

/**
 * The driver that Pawl selects by default.
 *
 * @returns {{ name: string, version: string, module: any, DatabaseSync: new (path: string) => any }}
 */
export function findDriver() {
  for (const name of ["node:sqlite", "@photostructure/sqlite"]) {
    const module = load(name);
    if (module === null) continue;
    const version = versionOf(module.DatabaseSync);
    if (isSupported(version)) return { name, version, module, DatabaseSync: module.DatabaseSync };
  }
  throw new Error("no SQLite driver is new enough; run npm install in the root of the repository");
}

/** @param {string} name */
function load(name) {
  try {
    return require(name);
  } catch (error) {
    if (["ERR_UNKNOWN_BUILTIN_MODULE", "MODULE_NOT_FOUND"].includes(error.code)) return null;
    throw error;
  }
}

/** @param {new (path: string) => any} DatabaseSync */
function versionOf(DatabaseSync) {
  const database = new DatabaseSync(":memory:");
  const { version } = database.prepare("SELECT sqlite_version() AS version").get();
  database.close();
  return version;
}

/** @param {string} version */
function isSupported(version) {
  const parts = version.split(".").map(Number);
  for (const [index, least] of VERSION_MIN.entries()) {
    if (parts[index] !== least) return parts[index] > least;
  }
  return true;
}

/** The settings of a connection. `synchronous` is a property of the connection, not of the file. @param {any} database */
export function settingsOf(database) {
  const names = ["journal_mode", "synchronous", "wal_autocheckpoint", "cache_size", "page_size", "foreign_keys"];
  const values = names.map((name) => Object.values(database.prepare(`PRAGMA ${name}`).get())[0]);
  return names
    .map((name, index) => `${name}=${name === "synchronous" ? LEVELS[values[index]] : values[index]}`)
    .join(" ");
}

const LEVELS = ["OFF", "NORMAL", "FULL", "EXTRA"];
