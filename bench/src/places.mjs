import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@redis/client";
import pg from "pg";

/**
 * Creates the places of parts, and removes them after the measurement.
 *
 * @import { Place } from "./place.mjs"
 *
 * @typedef {object} Places
 * @property {(name: string) => Promise<Place>} make
 * @property {(place: Place) => Promise<void>} remove
 * @property {() => Promise<readonly string[]>} settings The settings of the server, as lines.
 * @property {() => Promise<void>} close
 */

/** @param {string} store @param {{ folder: string, url: string | null }} where @returns {Promise<Places>} */
export async function openPlaces(store, { folder, url }) {
  switch (store) {
    case "memory":
      return NO_PLACE;
    case "sqlite":
    case "bpmn":
      return folders(folder);
    case "postgres":
      return await databases(addressOf(store, url));
    case "redis":
      return await prefixes(addressOf(store, url));
    default:
      throw new Error(`unknown store ${store}`);
  }
}

/** @param {string} store @param {string | null} url */
function addressOf(store, url) {
  if (url === null)
    throw new Error(`${store} needs --${store} with a URL; npm run bench starts a server and passes it`);
  return url;
}

/** @type {Places} */
const NO_PLACE = {
  make: async () => ({ store: "memory" }),
  remove: async () => undefined,
  settings: async () => [],
  close: async () => undefined,
};

/**
 * Folders on the file system of this package, because a sync may cost nothing in a temporary folder.
 *
 * @param {string} parent @returns {Places}
 */
function folders(parent) {
  mkdirSync(parent, { recursive: true });
  const all = mkdtempSync(join(parent, "run-"));
  process.on("exit", () => rmSync(all, { recursive: true, force: true }));
  return {
    async make(name) {
      const folder = join(all, name);
      mkdirSync(folder, { recursive: true });
      return { store: "sqlite", folder };
    },
    async remove(place) {
      if (place.store === "sqlite") rmSync(place.folder, { recursive: true, force: true });
    },
    settings: async () => [],
    close: async () => undefined,
  };
}

const SETTINGS = [
  "server_version",
  "fsync",
  "synchronous_commit",
  "wal_sync_method",
  "full_page_writes",
  "shared_buffers",
  "max_wal_size",
];

/** @param {string} url @returns {Promise<Places>} */
async function databases(url) {
  const client = new pg.Client({ connectionString: url });
  // A lost connection is reported by the next statement.
  client.on("error", () => undefined);
  await client.connect();
  const nameOf = (place) => new URL(place.url).pathname.slice(1);
  return {
    async make(name) {
      const database = `bench_${name.toLowerCase().replaceAll(/\W/g, "_")}_${process.pid}`;
      await client.query(`CREATE DATABASE ${database}`);
      const own = new URL(url);
      own.pathname = `/${database}`;
      return { store: "postgres", url: own.href };
    },
    async remove(place) {
      await client.query(`DROP DATABASE ${nameOf(place)} WITH (FORCE)`);
      // Drops its pages, so that the next measurement starts with no pending writes.
      await client.query("CHECKPOINT");
    },
    async settings() {
      const { rows } = await client.query("SELECT name, setting, unit FROM pg_settings WHERE name = ANY ($1)", [
        SETTINGS,
      ]);
      return [
        rows.map(({ name, setting, unit }) => `${name}=${setting}${unit === null ? "" : ` × ${unit}`}`).join(" "),
      ];
    },
    close: () => client.end(),
  };
}

/** @param {string} url @returns {Promise<Places>} */
async function prefixes(url) {
  const client = createClient({ url });
  // A lost connection is reported by the next command.
  client.on("error", () => undefined);
  await client.connect();
  return {
    make: async (name) => ({ store: "redis", url, prefix: `bench-${name}` }),
    async remove() {
      await client.flushAll();
    },
    async settings() {
      const [version] = /redis_version:(\S+)/.exec(await client.info("server")) ?? ["version unknown"];
      const { appendonly, appendfsync } = { ...(await client.configGet(["appendonly", "appendfsync"])) };
      return [`${version} appendonly=${appendonly} appendfsync=${appendfsync}`];
    },
    async close() {
      client.destroy();
    },
  };
}
