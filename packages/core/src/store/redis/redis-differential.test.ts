import { expect, it } from "vitest";
import { isTerminal } from "../../model/run.ts";
import { seededSequence } from "../../runtime/random.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { dumpStore, perform } from "../../testing/store-contract/perform.ts";
import { StoreActions } from "../../testing/store-contract/store-actions.ts";
import { memoryStore } from "../memory/memory-store.ts";
import type { Store } from "../store.ts";
import { redisStore } from "./index.ts";
import { redisClient } from "./redis-client.ts";

const ADDRESS = process.env.PAWL_TEST_REDIS_URL;
const TRANSITIONS = Number(process.env.TRANSITIONS ?? 5_000);
const SEED = Number(process.env.SEED ?? 20_261_116);

/** The guard of each open run: its epoch, and the number of seqs without a record if there are any. */
async function expectedGuards(store: Store): Promise<Record<string, string>> {
  const guards: Record<string, string> = {};
  for (const { loaded } of (await dumpStore(store)).runs) {
    if (loaded === null || isTerminal(loaded.run.status)) continue;
    const { run, records } = loaded;
    const dropped = (records.at(-1)?.seq ?? run.baseSeq) - records.length;
    guards[run.id] = dropped === 0 ? `${run.epoch}` : `${run.epoch}:${dropped}`;
  }
  return guards;
}

async function storedGuards(prefix: string): Promise<Record<string, string>> {
  const client = await redisClient(ADDRESS ?? "", { silenceMs: 10_000 });
  await client.connect();
  const key = `{${prefix}}:g`;
  const [ids, guards] = [await client.send(key, ["HKEYS", key]), await client.send(key, ["HVALS", key])];
  await client.close();
  return Object.fromEntries((ids as readonly string[]).map((id, n) => [id, (guards as readonly string[])[n] ?? ""]));
}

/** Performs random actions on a memory store and on Redis, there through one of two connections, and compares the results. */
async function compare(seed: number): Promise<void> {
  const world = new ManualWorld(1_700_000_000_000);
  const oracle = memoryStore();
  const prefix = `differential:${process.pid}:${seed}`;
  const connect = (): Store => redisStore(ADDRESS ?? "", { prefix, clock: "process" });
  const connections = [connect(), connect()];
  for (const store of [oracle, ...connections]) await store.open(world);
  const actions = new StoreActions(seed);
  const pick = seededSequence(seed + 1);
  let sent = 0;
  for (let step = 0; sent < TRANSITIONS; step += 1) {
    const action = await actions.action(oracle);
    if (action.kind === "advance") world.advance(action.ms);
    if (action.kind === "commit") sent += action.batch.length;
    const store = connections[Math.floor(pick() * connections.length)] as Store;
    const where = `seed ${seed}, action ${step}: ${JSON.stringify(action)}`;
    const expected = await perform(oracle, action);
    expect(await perform(store, action), where).toEqual(expected);
    if (step % 100 === 0) {
      expect(await dumpStore(store), where).toEqual(await dumpStore(oracle));
      expect(await storedGuards(prefix), where).toEqual(await expectedGuards(oracle));
    }
  }
  expect(await dumpStore(connections[0] as Store), `seed ${seed}, at the end`).toEqual(await dumpStore(oracle));
  for (const store of [oracle, ...connections]) await store.close();
}

it.skipIf(ADDRESS === undefined)(
  `${TRANSITIONS} random transitions give the same answers and rows on memory and Redis (seed ${SEED})`,
  () => compare(SEED),
  120_000,
);
