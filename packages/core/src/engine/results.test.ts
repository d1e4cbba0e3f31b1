import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import type { Store } from "../store/store.ts";
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
});
