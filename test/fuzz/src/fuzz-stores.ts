import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore, type Store } from "pawl";
import { postgresStore } from "pawl/postgres";
import { redisStore } from "pawl/redis";
import { sqliteStore } from "pawl/sqlite";
import { intercepted } from "pawl/testing";

export const STORE_NAMES = ["memory", "sqlite", "redis", "postgres"] as const;
export type StoreName = (typeof STORE_NAMES)[number];

/** New data for one fuzzed world. Each `connect` is a connection of its own to it. */
export interface FuzzData {
  readonly connect: () => Store;
  readonly dispose: () => Promise<void>;
}

let opened = 0;

/** Null if the store has no server here. */
export async function fuzzData(name: StoreName): Promise<(() => Promise<FuzzData>) | null> {
  switch (name) {
    case "memory":
      return async () => memoryData();
    case "sqlite":
      return sqliteData;
    case "redis": {
      const url = process.env.PAWL_TEST_REDIS_URL;
      return url === undefined ? null : async () => ({ connect: redisConnect(url), dispose: nothing });
    }
    case "postgres": {
      const url = await postgresUrl();
      return url === null ? null : async () => ({ connect: postgresConnect(url), dispose: nothing });
    }
  }
}

async function nothing(): Promise<void> {
  // The server is stopped at the end.
}

/** The connections share the store, so none of them closes it. */
function memoryData(): FuzzData {
  const store = memoryStore();
  const connect = (): Store =>
    intercepted(store, async (call, proceed) => (call.method === "close" ? (undefined as never) : await proceed()));
  return { connect, dispose: nothing };
}

async function sqliteData(): Promise<FuzzData> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-fuzz-"));
  return {
    connect: () => sqliteStore(join(folder, "fuzz.db"), { synchronous: "NORMAL" }),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

function redisConnect(url: string): () => Store {
  opened += 1;
  const prefix = `fuzz:${process.pid}:${opened}`;
  return () => redisStore(url, { prefix });
}

/** Creating a schema takes longer than the calls. */
const WORLDS_PER_SCHEMA = 20;

function postgresConnect(url: string): () => Store {
  opened += 1;
  const schema = `fuzz_${process.pid}_${Math.floor(opened / WORLDS_PER_SCHEMA)}`;
  return () => postgresStore(url, { schema });
}

/** The server that the test command has started, see `scripts/test-postgres.mjs`. */
async function postgresUrl(): Promise<string | null> {
  const { PAWL_TEST_POSTGRES_URL: url, PAWL_TEST_POSTGRES_START: start } = process.env;
  if (url !== undefined || start === undefined) return url ?? null;
  const response = await fetch(start);
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { readonly url: string | null }).url;
}
