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
 * own bounds, and an event may be deleted while it is in an inbox of another partition. Suspects are grouped in each partition, because
 * each has its own clock, and only the script that claims a group can count it: the groups of a worker come from one partition after
 * the other, so isolating a run takes no more crashes, and more rounds. `engine/suspects.test.ts` tests this with partitions.
 */
const WEAKER: ReadonlySet<string> = new Set([
  "pending events over all topics of a wait are delivered oldest first, one at a time",
  "a claim returns the runs that are due longest first, at most `limit` of them",
  "a claim with newestFirst returns the runs that became due last first",
  "a claim returns only runs of the requested versions, and leaves the version of each unchanged",
  "a claim without suspects returns other runs only, and skipped suspects hide none of them",
  "a group is half of the suspects that are due, and a claim in a group of several does not count",
  "a group is at most as large as the limit of the claim, and holds other runs too",
  "a suspect that lost its worker when it was alone is claimed alone",
  "a claim of a suspect that lost its worker when it was alone returns no other run",
  "a suspect that lost its worker when it was alone is skipped by a worker that is not idle, and hides no other run",
  "a run that made progress since it was claimed is no suspect when its worker is lost",
  "dueRuns returns the runs that are due longest first, by the store's clock, and repeats them until they change",
  "a heartbeat frees at most 1,000 runs, and an expired worker is listed until its last run is freed",
  "a heartbeat frees at most 1,000 runs of all expired workers together",
  "pruning deletes received events and keeps pending events and events in an inbox",
]);

const weakerCases = new Set<string>();

function unlessWeaker(name: string, body: () => Promise<void>): void {
  if (WEAKER.has(name)) weakerCases.add(name);
  else it(name, body);
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
  it("each case that does not hold with partitions is a case of the contract", () => {
    expect(weakerCases).toEqual(WEAKER);
  });
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
