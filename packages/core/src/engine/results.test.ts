import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import type { Hint, Store } from "../store/store.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** A store without hints: commits of other processes are found only by polling. */
function withoutHints(store: Store): Store {
  return new Proxy(store, {
    get(target, key) {
      if (key === "watch") return () => () => undefined;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A store whose hints are those that the test sends, and the number of its reads for callers. */
function hinted() {
  const listeners: ((hint: Hint) => void)[] = [];
  const counts = { reads: 0 };
  const through = (store: Store): Store => ({
    ...intercepted(store, async ({ method }, proceed) => {
      if (method === "read") counts.reads += 1;
      return await proceed();
    }),
    watch(listener) {
      listeners.push(listener);
      return () => undefined;
    },
  });
  const hint = (given: Hint): void => {
    for (const listener of listeners) listener(given);
  };
  return { through, counts, hint };
}

describe.each(TEST_STORES)("results of remote runs, on the store $name", ({ create }) => {
  it("polling finds the results of 250 awaited runs, although one poll reads 100", async () => {
    const cluster = await create(onTestFinished);
    const double = workflow("double", async (_ctx, n: number) => 2 * n);
    const client = await cluster.engine({ through: withoutHints });
    const runs = await Promise.all(Array.from({ length: 250 }, (_, n) => client.start(double, n)));
    const results = Promise.all(runs.map((run) => run.result()));
    await cluster.world.settle();
    await cluster.engine({ workflows: [double] });
    await cluster.world.advance("10 s");
    expect(await results).toEqual(Array.from({ length: 250 }, (_, n) => 2 * n));
  });

  it("the result of a run that a client started is read once, when a hint names its end", async () => {
    const cluster = await create(onTestFinished);
    const double = workflow("double", async (_ctx, n: number) => 2 * n);
    const { through, counts, hint } = hinted();
    const client = await cluster.engine({ through, poll: "1 hour" });
    hint({ runIds: null });
    const readsToOpen = counts.reads;
    const result = (await client.start(double, 2, { id: "d-1" })).result();
    await cluster.world.settle();
    expect(counts.reads).toBe(readsToOpen);
    await cluster.engine({ workflows: [double] });
    await cluster.world.settle();
    hint({ runIds: [], owners: [], ended: ["d-1"] });
    expect(await result).toBe(4);
    expect(counts.reads).toBe(readsToOpen + 1);
  });

  it.each([
    { seen: "a hint named its end", hinting: { runIds: [], owners: [], ended: ["d-1"] } },
    { seen: "hints may have been lost", hinting: { runIds: null } },
  ])("a result that is requested after the run ended is read at once when $seen", async ({ hinting }) => {
    const cluster = await create(onTestFinished);
    const double = workflow("double", async (_ctx, n: number) => 2 * n);
    const { through, hint } = hinted();
    const client = await cluster.engine({ through, poll: "1 hour" });
    hint({ runIds: null });
    const run = await client.start(double, 2, { id: "d-1" });
    await cluster.engine({ workflows: [double] });
    await cluster.world.settle();
    hint(hinting);
    expect(await run.result()).toBe(4);
  });

  it("polling finds the result of a run that a client started when the hint of its end is lost", async () => {
    const cluster = await create(onTestFinished);
    const double = workflow("double", async (_ctx, n: number) => 2 * n);
    const { through, hint } = hinted();
    const client = await cluster.engine({ through });
    hint({ runIds: null });
    const result = (await client.start(double, 2, { id: "d-1" })).result();
    await cluster.engine({ workflows: [double] });
    await cluster.world.advance("2 s");
    expect(await result).toBe(4);
  });

  it("the result of a second start of an ended run is read at once", async () => {
    const cluster = await create(onTestFinished);
    const double = workflow("double", async (_ctx, n: number) => 2 * n);
    const { through, hint } = hinted();
    const client = await cluster.engine({ through, poll: "1 hour" });
    hint({ runIds: null });
    await client.start(double, 2, { id: "d-1" });
    await cluster.engine({ workflows: [double] });
    await cluster.world.settle();
    const again = await client.start(double, 2, { id: "d-1" });
    expect(await again.result()).toBe(4);
  });
});

describe.each(TEST_STORES.filter(({ name }) => name === "sqlite"))("results, on the store $name", ({ create }) => {
  it("a hint that names no run makes a client read only the runs that have ended", async () => {
    const cluster = await create(onTestFinished);
    const double = workflow("double", async (_ctx, n: number) => 2 * n);
    const later = workflow("later", async () => "later");
    const { through, counts, hint } = hinted();
    const client = await cluster.engine({ through, poll: "1 hour" });
    hint({ runIds: null });
    const result = (await client.start(double, 2, { id: "d-1" })).result();
    for (let n = 0; n < 50; n += 1) void (await client.start(later, undefined)).result().catch(() => undefined);
    await cluster.engine({ workflows: [double] });
    await cluster.world.settle();
    counts.reads = 0;
    hint({ runIds: null });
    expect(await result).toBe(4);
    expect(counts.reads).toBe(2);
  });
});
