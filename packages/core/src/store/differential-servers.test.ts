import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { freshPostgres } from "../testing/postgres-database.ts";
import { ActionTally } from "../testing/store-contract/action-tally.ts";
import { ManualWorld } from "../testing/store-contract/manual-world.ts";
import { dumpStore, perform } from "../testing/store-contract/perform.ts";
import { StoreActions } from "../testing/store-contract/store-actions.ts";
import { memoryStore } from "./memory/memory-store.ts";
import { postgresStore } from "./postgres/index.ts";
import { redisStore } from "./redis/index.ts";
import { sqliteStore } from "./sqlite/index.ts";
import type { Store } from "./store.ts";

/** Set by `npm run differential`. Each store also has a shorter test in its folder. */
const OPS = Number(process.env.PAWL_DIFFERENTIAL_OPS ?? 0);
const SEED = Number(process.env.SEED ?? 20_261_119);
const DUMP_OPS = 100;

/** Opens a store of each kind over an empty database. */
async function everyStore(): Promise<ReadonlyMap<string, Store>> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-differential-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const postgres = await freshPostgres();
  const own = await postgres?.schema();
  const redis = process.env.PAWL_TEST_REDIS_URL;
  if (postgres === null || own === undefined || redis === undefined) throw new Error("a server is missing");
  onTestFinished(async () => {
    await own.dispose();
    await postgres.close();
  });
  return new Map<string, Store>([
    ["SQLite", sqliteStore(join(folder, "rows.db"), { synchronous: "NORMAL", pollMs: 86_400_000 })],
    ["PostgreSQL", postgresStore(postgres.pool, { schema: own.schema, clock: "process", listen: false })],
    ["Redis", redisStore(redis, { prefix: `differential:${process.pid}:${SEED}`, clock: "process" })],
  ]);
}

it.skipIf(OPS === 0)(
  `${OPS} random ops have the same outcomes, and leave the same rows, in memory, SQLite, PostgreSQL and Redis (seed ${SEED}; npm run differential)`,
  async () => {
    const world = new ManualWorld(1_700_000_000_000);
    const oracle = memoryStore();
    const stores = await everyStore();
    for (const store of [oracle, ...stores.values()]) await store.open(world);
    const actions = new StoreActions(SEED);
    const tally = new ActionTally();
    const sameRows = async (where: string): Promise<void> => {
      const expected = await dumpStore(oracle);
      for (const [name, store] of stores) expect(await dumpStore(store), `${name}: ${where}`).toEqual(expected);
    };
    let dumps = 0;
    for (let step = 0; tally.count < OPS; step += 1) {
      const action = await actions.action(oracle);
      if (action.kind === "advance") world.advance(action.ms);
      const expected = await perform(oracle, action);
      tally.add(action, expected);
      const where = `seed ${SEED}, action ${step}: ${JSON.stringify(action)}`;
      const answers = await Promise.all([...stores.values()].map((store) => perform(store, action)));
      for (const [index, name] of [...stores.keys()].entries()) {
        expect(answers[index], `${name}: ${where}`).toEqual(expected);
      }
      if (Math.floor(tally.count / DUMP_OPS) > dumps) {
        dumps += 1;
        await sameRows(where);
      }
    }
    await sameRows("at the end");
    for (const store of [oracle, ...stores.values()]) await store.close();
    process.stdout.write(
      `\n${tally}\n${tally.count} ops on ${stores.size + 1} stores, the same rows ${dumps + 1} times\n`,
    );
    expect(tally.missing).toEqual([]);
  },
  3_600_000,
);
