import { expect, it } from "vitest";
import { isTerminal } from "../../model/run.ts";
import { seededSequence } from "../../runtime/random.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { dumpStore, perform } from "../../testing/store-contract/perform.ts";
import { StoreActions } from "../../testing/store-contract/store-actions.ts";
import { memoryStore } from "../memory/memory-store.ts";
import type { Store } from "../store.ts";
import { redisClient } from "./client.ts";
import { redisStore } from "./index.ts";

const ADDRESS = process.env.PAWL_TEST_REDIS_URL;
const TRANSITIONS = Number(process.env.TRANSITIONS ?? 5_000);
const SEED = Number(process.env.SEED ?? 20_261_116);

/** Of each open run the epoch, and how many seqs up to its newest have no record. */
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

async function keptGuards(prefix: string): Promise<Record<string, string>> {
  const client = await redisClient(ADDRESS ?? "", { silenceMs: 10_000 });
  await client.connect();
  const key = `{${prefix}}:g`;
  const [ids, guards] = [await client.send(key, ["HKEYS", key]), await client.send(key, ["HVALS", key])];
  await client.close();
  return Object.fromEntries((ids as readonly string[]).map((id, n) => [id, (guards as readonly string[])[n] ?? ""]));
}

/** Does the same to a memory store and to Redis, where each action goes through one of two connections. */
async function compare(seed: number): Promise<void> {
  const world = new ManualWorld(1_700_000_000_000);
  const oracle = memoryStore();
  const prefix = `differential:${process.pid}:${seed}`;
  const connect = (): Store => redisStore(ADDRESS ?? "", { prefix, clock: "process" });
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
    if (step % 100 === 0) {
      expect(await dumpStore(store), where).toEqual(await dumpStore(oracle));
      expect(await keptGuards(prefix), where).toEqual(await expectedGuards(oracle));
    }
  }
  expect(await dumpStore(tried[0] as Store), `seed ${seed}, at the end`).toEqual(await dumpStore(oracle));
  for (const store of [oracle, ...tried]) await store.close();
}

it.skipIf(ADDRESS === undefined)(
  `${TRANSITIONS} random transitions leave memory and Redis with the same answers and the same rows (seed ${SEED})`,
  () => compare(SEED),
  120_000,
);
