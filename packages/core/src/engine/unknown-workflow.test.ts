import { describe, expect, it, onTestFinished } from "vitest";
import { declareWorkflow, workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const UNKNOWN = "no live worker has the workflow of a run; start a worker that registers it in this version";

const known = workflow("known", async () => "done");
const order = workflow("order", { version: 2 }, async () => "ordered");
const oldOrder = declareWorkflow<undefined, string>("order", { version: 1 });

function reported(cluster: TestCluster): readonly unknown[] {
  return cluster.log.flatMap(({ level, text, fields }) => (text === UNKNOWN ? [{ level, ...fields }] : []));
}

describe.each(TEST_STORES)("a workflow that no worker has, on the store $name", ({ create }) => {
  it("a run whose workflow no worker has is logged once, with the versions that workers have", async () => {
    const cluster = await create(onTestFinished);
    const first = await cluster.engine({ workflows: [known, order] });
    await cluster.engine({ workflows: [known] });
    const run = await first.start(oldOrder, undefined, { id: "o-1" });
    await first.start(oldOrder, undefined, { id: "o-2" });
    await cluster.world.advance("30 s");
    expect(reported(cluster)).toEqual([]);
    await cluster.world.advance("5 minutes");
    const fields = { workflow: "order", version: 1, workers: 2, versions: [2] };
    expect(reported(cluster)).toMatchObject([{ level: "warn", run: expect.stringMatching(/^o-[12]$/), ...fields }]);
    expect((await first.explain(run.id)).why).toMatchObject({ kind: "noWorker", versions: [2] });
  });

  it("runs of a known workflow that wait, or start later, are not logged", async () => {
    const cluster = await create(onTestFinished);
    const waits = workflow("waits", async (ctx) => await ctx.listen("go"));
    const engine = await cluster.engine({ workflows: [waits] });
    await engine.start(waits, undefined);
    await engine.start(oldOrder, undefined, { delay: "1 day" });
    await cluster.world.advance("5 minutes");
    expect(reported(cluster)).toEqual([]);
  });
});
