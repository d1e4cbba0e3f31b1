import { expect, it } from "vitest";
import { seededSequence } from "../../runtime/random.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { dumpStore, perform } from "../../testing/store-contract/perform.ts";
import { StoreActions } from "../../testing/store-contract/store-actions.ts";
import { memoryStore } from "../memory/memory-store.ts";
import type { Store } from "../store.ts";
import { redisStore } from "./index.ts";

const ADDRESS = process.env.PAWL_TEST_REDIS_URL;
const TRANSITIONS = Number(process.env.TRANSITIONS ?? 5_000);
const SEED = Number(process.env.SEED ?? 20_261_116);

/** Does the same to a memory store and to Redis, where each action goes through one of two connections. */
async function compare(seed: number): Promise<void> {
  const world = new ManualWorld(1_700_000_000_000);
  const oracle = memoryStore();
  const connect = (): Store =>
    redisStore(ADDRESS ?? "", { prefix: `differential:${process.pid}:${seed}`, clock: "process" });
  const tried = [connect(), connect()];
  for (const store of [oracle, ...tried]) await store.open(world);
  const actions = new StoreActions(seed);
  const pick = seededSequence(seed + 1);
  let sent = 0;
  for (let step = 0; sent < TRANSITIONS; step += 1) {
    const action = await actions.action(oracle);
    if (action.kind === "pass") world.advance(action.ms);
    if (action.kind === "commit") sent += action.batch.length;
    const store = tried[Math.floor(pick() * tried.length)] as Store;
    const where = `seed ${seed}, action ${step}: ${JSON.stringify(action)}`;
    const expected = await perform(oracle, action);
    expect(await perform(store, action), where).toEqual(expected);
    if (step % 100 === 0) expect(await dumpStore(store), where).toEqual(await dumpStore(oracle));
  }
  expect(await dumpStore(tried[0] as Store), `seed ${seed}, at the end`).toEqual(await dumpStore(oracle));
  for (const store of [oracle, ...tried]) await store.close();
}

it.skipIf(ADDRESS === undefined)(
  `${TRANSITIONS} random transitions leave memory and Redis with the same answers and the same rows (seed ${SEED})`,
  () => compare(SEED),
  120_000,
);
