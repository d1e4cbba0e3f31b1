import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, workflow } from "../index.ts";
import { heartbeatGate } from "../testing/heartbeat-gate.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Several leases: the cluster's lease is 3 s. */
const BLOCKED_MS = 20_000;

/** What a step does that computes for so long: no timer fires meanwhile. */
function block(cluster: TestCluster): void {
  const { clock } = cluster.world;
  clock.set(clock.now() + BLOCKED_MS);
}

function countLosses(engine: Engine): () => number {
  let losses = 0;
  engine.on("run.lost", () => (losses += 1));
  return () => losses;
}

describe.each(TEST_STORES)("a blocked event loop, on the store $name", ({ create }) => {
  it("a step that blocks the event loop longer than the lease is executed once, and its result is committed", async () => {
    const cluster = await create(onTestFinished);
    let executions = 0;
    const computes = workflow("computes", async (ctx) =>
      ctx.step("compute", () => {
        executions += 1;
        block(cluster);
        return "computed";
      }),
    );
    const engine = await cluster.engine({ workflows: [computes] });
    const losses = countLosses(engine);
    const run = await engine.start(computes, undefined);
    expect(await cluster.finish(run)).toBe("computed");
    expect([executions, losses()]).toEqual([1, 0]);
  });

  it("runs beside a step that blocks the event loop stay with their worker, and no step of theirs is repeated", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const waits = workflow("waits", async (ctx) =>
      ctx.step("work", () => new Promise<string>((resolve) => bodies.push(resolve))),
    );
    const computes = workflow("computes", async (ctx) => ctx.step("compute", () => block(cluster)));
    const engine = await cluster.engine({ workflows: [waits, computes] });
    const losses = countLosses(engine);
    const runs = await Promise.all([engine.start(waits, undefined), engine.start(waits, undefined)]);
    await cluster.world.settle();
    await engine.start(computes, undefined);
    await cluster.world.advance("5 s");
    expect(bodies).toHaveLength(2);
    for (const end of bodies) end("done");
    expect(await Promise.all(runs.map((run) => cluster.result(run)))).toEqual(["done", "done"]);
    expect([bodies.length, losses()]).toEqual([2, 0]);
  });

  it("a run that another worker freed and none claimed returns to its worker in the same epoch", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) => {
      const first = await ctx.step("first", () => new Promise<string>((resolve) => bodies.push(resolve)));
      return await ctx.step("second", () => `${first}, then second`);
    });
    const other = workflow("other", async () => null);
    const gate = heartbeatGate();
    const engine = await cluster.engine({ workflows: [long], through: gate.through });
    const losses = countLosses(engine);
    const run = await engine.start(long, undefined, { id: "r-1" });
    await cluster.world.settle();
    gate.close();
    const second = await cluster.engine({ workflows: [other] });
    await cluster.world.advance("10 s");
    expect(await second.get("r-1")).toMatchObject({ owner: null, epoch: 1 });
    gate.open();
    await cluster.world.settle();
    expect((await second.get("r-1"))?.owner).not.toBe(null);
    bodies[0]!("first");
    expect(await cluster.result(run)).toBe("first, then second");
    expect([bodies.length, losses()]).toEqual([1, 0]);
    expect(await second.get("r-1")).toMatchObject({ epoch: 1 });
  });

  it("a result that arrives after its run was freed is committed if no other worker claimed the run", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) => {
      await ctx.step("first", () => new Promise<string>((resolve) => bodies.push(resolve)));
      return (await ctx.listen("go", { timeout: "1 hour" })).timedOut;
    });
    const other = workflow("other", async () => null);
    const gate = heartbeatGate();
    const engine = await cluster.engine({ workflows: [long], through: gate.through });
    const run = await engine.start(long, undefined);
    await cluster.world.settle();
    gate.close();
    const second = await cluster.engine({ workflows: [other] });
    await cluster.world.advance("10 s");
    bodies[0]!("first");
    await cluster.world.settle();
    cluster.crash(engine);
    const third = await cluster.engine({ workflows: [long] });
    await second.send(run.id, "go", null);
    expect(await cluster.finish(third.run(run.id))).toBe(false);
    expect(bodies).toHaveLength(1);
  });
});
