import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("concurrency of woken runs, on the store $name", ({ create }) => {
  const wakeAll = async (wait: "sleep" | "listen"): Promise<{ readonly most: number; readonly order: number[] }> => {
    const cluster = await create(onTestFinished);
    let working = 0;
    let most = 0;
    const order: number[] = [];
    const bodies: Array<() => void> = [];
    const work = workflow("work", async (ctx, n: number) => {
      await (wait === "sleep" ? ctx.sleep("1 s") : ctx.listen("go"));
      await ctx.step("work", async () => {
        order.push(n);
        working += 1;
        most = Math.max(most, working);
        await new Promise<void>((resolve) => bodies.push(resolve));
        working -= 1;
      });
    });
    const engine = await cluster.engine({ workflows: [work], concurrency: 2 });
    const runs = await Promise.all(Array.from({ length: 6 }, (_, n) => engine.start(work, n, { id: `run-${n}` })));
    await cluster.world.settle();
    if (wait === "listen") await Promise.all(runs.map((run) => run.send("go", 1)));
    await cluster.world.advance("2 s");
    while (bodies.length > 0) {
      bodies.shift()!();
      await cluster.world.settle();
    }
    await cluster.world.advance("2 s");
    for (const run of runs) expect(await run.status()).toBe("completed");
    return { most, order };
  };

  it("at most `concurrency` runs execute when more are due at the same time", async () => {
    expect((await wakeAll("sleep")).most).toBe(2);
  });

  it("runs woken by messages execute in the order of the messages, at most `concurrency` at once", async () => {
    expect(await wakeAll("listen")).toEqual({ most: 2, order: [0, 1, 2, 3, 4, 5] });
  });
});
