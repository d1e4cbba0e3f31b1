import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const UNREAD = "a run does not listen for a message that it has got; check the name of the message, or listen for it";

const asks = workflow("asks", async (ctx) => [(await ctx.listen("approve")).value, (await ctx.listen("later")).value]);

function reported(cluster: TestCluster): readonly unknown[] {
  return cluster.log.flatMap(({ level, text, fields }) => (text === UNREAD ? [{ level, ...fields }] : []));
}

describe.each(TEST_STORES)("messages that no code listens for, on the store $name", ({ create }) => {
  it("a message with a misspelt name is logged once after an hour, with its run and the names that the run listens for", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [asks], hotRuns: 0 });
    await cluster.engine({ workflows: [asks] });
    const runs = [await engine.start(asks, undefined), await engine.start(asks, undefined)];
    await cluster.world.settle();
    for (const run of runs) expect(await run.send("aprove", true)).toMatchObject({ kind: "queued" });
    await cluster.world.advance("59 minutes");
    expect(reported(cluster)).toEqual([]);
    await cluster.world.advance("5 minutes");
    const [line] = reported(cluster) as { readonly run: string }[];
    expect(reported(cluster)).toMatchObject([
      { level: "warn", workflow: "asks", message: "aprove", listensFor: ["approve"] },
    ]);
    expect(runs.map(({ id }) => id)).toContain(line?.run);
    await cluster.world.advance("1 hour");
    expect(reported(cluster)).toHaveLength(1);
  });

  it("a message that arrives early is not logged if the run receives it within an hour", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [asks] });
    const run = await engine.start(asks, undefined);
    await cluster.world.settle();
    await run.send("later", 2);
    await cluster.world.advance("50 minutes");
    await run.send("approve", 1);
    expect(await cluster.finish(run)).toEqual([1, 2]);
    await cluster.world.advance("20 minutes");
    expect(reported(cluster)).toEqual([]);
  });
});
