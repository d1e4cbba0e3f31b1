import { describe, expect, it } from "vitest";
import { seededSequence } from "../../runtime/random.ts";
import { sharedKv } from "../../testing/shared-kv.ts";
import { storeContract } from "../../testing/store-contract/index.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { dumpStore, perform } from "../../testing/store-contract/perform.ts";
import { StoreActions } from "../../testing/store-contract/store-actions.ts";
import { memoryStore } from "../memory/memory-store.ts";
import { KvStore } from "./kv-store.ts";
import { memoryDriver } from "./memory-driver.ts";

storeContract(
  "key-value",
  async () => {
    const { connect } = sharedKv(memoryDriver());
    return { store: connect(), another: connect };
  },
  { describe, it, expect },
);

const TRANSITIONS = 3_000;
const SEED = Number(process.env.SEED ?? 20_261_116);

it(`${TRANSITIONS} random transitions give the same answers and rows in memory and in a namespace that is reopened (seed ${SEED})`, async () => {
  const world = new ManualWorld(1_700_000_000_000);
  const oracle = memoryStore();
  const store = new KvStore(memoryDriver(), "differential");
  for (const each of [oracle, store]) await each.open(world);
  const actions = new StoreActions(SEED);
  const pick = seededSequence(SEED + 1);
  let sent = 0;
  for (let step = 0; sent < TRANSITIONS; step += 1) {
    const action = await actions.action(oracle);
    if (action.kind === "advance") world.advance(action.ms);
    if (action.kind === "commit") sent += action.batch.length;
    if (pick() < 0.1) await store.forget();
    const expected = await perform(oracle, action);
    const where = `seed ${SEED}, action ${step}: ${JSON.stringify(action)}`;
    expect(await perform(store, action), where).toEqual(expected);
    if (step % 100 === 0) expect(await dumpStore(store), where).toEqual(await dumpStore(oracle));
  }
  await store.forget();
  expect(await dumpStore(store), `seed ${SEED}, at the end`).toEqual(await dumpStore(oracle));
}, 120_000);
