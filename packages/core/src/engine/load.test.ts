import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const RUNS = 300;
const CONCURRENCY = 20;
const WORK_MS = 100;

/** A step body that takes WORK_MS, and counts how many run concurrently. */
function slowWork(cluster: TestCluster) {
  const seen = { working: 0, most: 0, done: 0 };
  const work = async (): Promise<void> => {
    seen.working += 1;
    seen.most = Math.max(seen.most, seen.working);
    const { clock } = cluster.world;
    await new Promise<void>((resolve) => clock.wakeAt(clock.now() + WORK_MS, resolve));
    seen.working -= 1;
    seen.done += 1;
  };
  return { seen, work };
}

describe.each(TEST_STORES)("many due runs after an outage, on the store $name", ({ create }) => {
  it("new runs are not starved, overdue runs complete, and the worker owns at most `concurrency` runs", async () => {
    const cluster = await create(onTestFinished);
    const { seen, work } = slowWork(cluster);
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleep("1 hour");
      await ctx.step("work", work);
    });
    const fresh = workflow("fresh", async (ctx) => ctx.step("work", () => seen.done));
    const first = await cluster.engine({ workflows: [nap] });
    const runs = await Promise.all(Array.from({ length: RUNS }, () => first.start(nap, undefined)));
    await cluster.world.advance("1 s");
    await first.shutdown();
    const client = await cluster.client();
    await cluster.world.advance("2 hours");

    const engine = await cluster.engine({ workflows: [nap, fresh], concurrency: CONCURRENCY });
    await cluster.world.advance(WORK_MS / 2);
    const late = await client.start(fresh, undefined);
    await cluster.world.advance("500 ms");
    expect(await late.status()).toBe("completed");
    expect(await late.result()).toBeLessThan(RUNS / 2);
    const owned = (await client.list({ limit: 1_000, status: ["running"] })).items.filter(
      ({ owner }) => owner !== null,
    );
    expect(owned.length).toBeLessThanOrEqual(CONCURRENCY);

    await cluster.world.advance("10 s");
    expect(await Promise.all(runs.map(({ id }) => engine.run(id).status()))).toEqual(runs.map(() => "completed"));
    expect(seen).toMatchObject({ done: RUNS, most: CONCURRENCY });
  });
});
