import { describe, expect, it } from "vitest";
import { append, create, record, records, suspended, T0 } from "../../testing/store-contract/builders.ts";
import { storeContract } from "../../testing/store-contract/index.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { memoryStore } from "../memory/memory-store.ts";
import type { Store } from "../store.ts";
import { redisStore } from "./index.ts";

const URL = process.env.PAWL_TEST_REDIS_URL;
let last = 0;

/**
 * Contract cases that do not hold with several partitions. There is no order between partitions (docs/redis.md), each partition has its
 * own bounds, and an event may be deleted while it is in an inbox of another partition.
 */
const WEAKER: ReadonlySet<string> = new Set([
  "the oldest pending event over all topics of a wait is delivered, one at a time",
  "due runs are claimed the longest due first, at most as many as asked",
  "where it is asked for, those that became due last are claimed first",
  "of one workflow, only runs of the asked versions are claimed, and each stays what it was",
  "of runs claimed often without progress no more are given than asked for, and they hide none of the others",
  "due runs are listed the longest due first, by the store's clock, and stay due until they change",
  "reaping is bounded: a dead worker stays known until its last run is free",
  "reaping is bounded over all dead workers together",
  "events that are over are forgotten; those pending, and those in an inbox, are not",
]);

function unlessWeaker(name: string, body: () => Promise<void>): void {
  if (!WEAKER.has(name)) it(name, body);
}

/** A store whose keys no other test uses. */
async function freshKeys(partitions = 1) {
  last += 1;
  const prefix = `contract:${process.pid}:${last}`;
  const another = (): Store => redisStore(URL ?? "", { prefix, partitions, clock: "process" });
  return { store: another(), another };
}

if (URL === undefined) it.skip("the Redis store passes the contract (skipped: no server)", () => undefined);
else {
  storeContract("redis", freshKeys, { describe, it, expect });
  storeContract("partitioned redis", () => freshKeys(5), { describe, it: unlessWeaker, expect });
}

it.skipIf(URL === undefined)(
  "a Redis store throws on records that do not follow the newest one, and writes nothing",
  async () => {
    const { store } = await freshKeys();
    await store.open(new ManualWorld(T0));
    await store.commit([create("r", { owner: "w" })]);
    const [second, fourth] = [record(2), record(4)];
    await expect(store.commit([append("r", { records: [second] })])).rejects.toThrow("do not follow");
    await expect(store.commit([append("r", { records: [record(1), second, fourth] })])).rejects.toThrow(
      "4 does not follow",
    );
    expect((await store.load("r"))?.records).toEqual([]);
    await store.close();
  },
);

it.skipIf(URL === undefined)(
  "a Redis store gives plain appends of 1,300 runs the same answers and records as the memory store",
  async () => {
    const { store } = await freshKeys();
    const model = memoryStore();
    const ids = Array.from({ length: 1_300 }, (_, index) => `r${index}`);
    const epochOf = (index: number): number => (index % 7 === 3 || index > 1_250 ? 2 : 1);
    const some = (index: number) => records(1, index % 5 === 4 ? 3 : 1);
    const appends = ids.map((id, index) => append(id, { epoch: epochOf(index), records: some(index) }));
    const beside = append("r8", { records: [record(2)], state: suspended() });
    const batches = [ids.map((id) => create(id, { owner: "w" })), [...appends, beside], appends];
    const outcomes = async (each: Store): Promise<unknown> => {
      await each.open(new ManualWorld(T0));
      const answers: unknown[] = [];
      for (const batch of batches) answers.push((await each.commit(batch)).answers);
      const loaded = await Promise.all(ids.map(async (id) => (await each.load(id))?.records));
      await each.close();
      return { answers, loaded };
    };
    expect(await outcomes(store)).toEqual(await outcomes(model));
  },
);
