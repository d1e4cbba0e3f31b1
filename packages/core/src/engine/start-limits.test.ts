import { describe, expect, it, onTestFinished } from "vitest";
import { createClient, exportRun, importRun, memoryStore, workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import type { Engine } from "./engine.ts";

const waits = workflow("waits", async (ctx) => (await ctx.listen("go")).value);

/** Calls of step bodies, by name. */
function counting() {
  const calls: string[] = [];
  const order = workflow("order", async (ctx, name: string) => {
    await ctx.step("charge", () => calls.push(name), { rollback: () => void calls.push(`refund ${name}`) });
    await ctx.listen("go");
  });
  return { calls, order };
}

async function causeOf(engine: Engine, runId: string): Promise<unknown> {
  return (await engine.get(runId))?.error;
}

/** These tests do not depend on the store. */
async function inMemory(): Promise<TestCluster> {
  const [first] = TEST_STORES;
  if (first === undefined) throw new Error("there must be a store to test");
  return await first.create(onTestFinished);
}

describe.each(TEST_STORES)("limits that a start sets, on the store $name", ({ create }) => {
  const open = () => create(onTestFinished);

  it("a run fails at its deadline and is rolled back", async () => {
    const cluster = await open();
    const { calls, order } = counting();
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, "chair", { deadline: "1 hour" });
    await cluster.world.advance("59 minutes");
    expect(await run.status()).toBe("suspended");
    expect((await engine.explain(run.id)).sentence).toContain("its deadline is in 1 min");
    await cluster.world.advance("1 minute");
    expect(await cluster.failure(run)).toMatchObject({ code: "RUN_FAILED", cause: { code: "DEADLINE_EXCEEDED" } });
    expect(calls).toEqual(["chair", "refund chair"]);
  });

  it("a deadline holds after the worker of a run has crashed, and in every generation", async () => {
    const cluster = await open();
    const again = workflow("again", async (ctx, left: number): Promise<unknown> => {
      if (left > 0) return await ctx.continueAs(left - 1);
      return await ctx.listen("go");
    });
    const first = await cluster.engine({ workflows: [again] });
    const run = await first.start(again, 2, { id: "a", deadline: "1 hour" });
    await cluster.world.settle();
    cluster.crash(first);
    const second = await cluster.engine({ workflows: [again] });
    await cluster.world.advance("59 minutes");
    expect(await second.run(run.id).status()).toBe("suspended");
    await cluster.world.advance("1 minute");
    expect(await second.get(run.id)).toMatchObject({ status: "failed", error: { code: "DEADLINE_EXCEEDED" } });
  });

  it("a child has the deadline of its parent if its own is later, also a child of its child", async () => {
    const cluster = await open();
    const middle = workflow("middle", async (ctx) => await ctx.child(waits, undefined, { name: "below" }));
    const parent = workflow("parent", async (ctx) => {
      await ctx.startChild(waits, undefined, { name: "late", deadline: "2 hours" });
      await ctx.startChild(waits, undefined, { name: "early", deadline: "1 minute" });
      await ctx.startChild(waits, undefined, { name: "delayed", delay: "3 hours" });
      await ctx.child(middle, undefined);
    });
    const engine = await cluster.engine({ workflows: [parent, middle, waits] });
    const run = await engine.start(parent, undefined, { id: "p", deadline: "1 hour" });
    await cluster.world.settle();
    const { deadlineAt = null } = (await engine.get("p"))?.limits ?? {};
    const early = (await engine.get("p//early"))?.limits?.deadlineAt;
    expect(early).toBeLessThan(Number(deadlineAt));
    const children = ["p//late", "p//delayed", "p//middle", "p//middle//below"];
    for (const id of children) expect((await engine.get(id))?.limits?.deadlineAt, id).toBe(deadlineAt);
    await cluster.world.advance("1 minute");
    expect(await causeOf(engine, "p//early")).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    await cluster.world.advance("1 hour");
    for (const id of ["p//late", "p//delayed"])
      expect(await causeOf(engine, id), id).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(await run.status()).toBe("failed");
  });

  it("a run whose deadline has passed when it is claimed executes none of its code", async () => {
    const cluster = await open();
    const { calls, order } = counting();
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, "chair", { deadline: new Date(cluster.world.clock.now() - 1) });
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "DEADLINE_EXCEEDED" } });
    expect(calls).toEqual([]);
  });

  it("a run that no worker has claimed within its ttl fails without starting", async () => {
    const cluster = await open();
    const { calls, order } = counting();
    const client = await cluster.client();
    const run = await client.start(order, "chair", { ttl: "10 s", delay: "5 s" });
    expect((await client.explain(run.id)).sentence).toContain("it fails if it has not started in 15 s");
    await cluster.world.advance("16 s");
    await cluster.engine({ workflows: [order] });
    expect(await cluster.failure(run)).toMatchObject({ code: "RUN_FAILED", cause: { code: "RUN_EXPIRED" } });
    expect([calls, await run.journal()]).toEqual([[], []]);
  });

  it("a ttl does not end a run that has started in time", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [waits] });
    const local = await engine.start(waits, undefined, { ttl: "10 s" });
    const remote = await (await cluster.client()).start(waits, undefined, { ttl: "10 s" });
    await cluster.world.advance("5 minutes");
    for (const run of [local, remote]) {
      await engine.send(run.id, "go", "went");
      expect(await cluster.finish(run)).toBe("went");
    }
  });

  it("a run that waits for a slot fails about a minute after its ttl, and a later slot does not start it", async () => {
    const cluster = await open();
    const { calls, order } = counting();
    const engine = await cluster.engine({ workflows: [order], concurrency: 1 });
    const blocker = workflow(
      "blocker",
      async (ctx) => await ctx.step("work", async () => await new Promise(() => undefined)),
    );
    await engine.register(blocker);
    await engine.start(blocker, undefined);
    const run = await engine.start(order, "chair", { ttl: "10 s" });
    await cluster.world.advance("2 minutes");
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "RUN_EXPIRED" } });
    expect(calls).toEqual([]);
  });

  it("a parent receives the failure of a child that expired", async () => {
    const cluster = await open();
    const late = workflow("late", async () => "never");
    const parent = workflow("parent", async (ctx) => await ctx.child(late, undefined, { ttl: "10 s" }));
    const engine = await cluster.engine({ workflows: [parent] });
    const run = await engine.start(parent, undefined);
    await cluster.world.advance("3 minutes");
    expect(await cluster.failure(run)).toMatchObject({
      cause: { code: "CHILD_FAILED", cause: { code: "RUN_EXPIRED" } },
    });
  });

  it("a retry lifts a deadline that has passed and a ttl that has expired", async () => {
    const cluster = await open();
    const client = await cluster.client();
    const expired = await client.start(waits, undefined, { ttl: "10 s" });
    const late = await client.start(waits, undefined, { deadline: "1 minute" });
    await cluster.world.advance("2 minutes");
    const engine = await cluster.engine({ workflows: [waits] });
    for (const run of [expired, late]) {
      await cluster.failure(run);
      await engine.rewind(run.id, 0);
      await engine.send(run.id, "go", "went");
      expect(await cluster.finish(run)).toBe("went");
    }
  });
});

it("a deadline or a ttl that is no time is rejected with a code", async () => {
  const cluster = await inMemory();
  const engine = await cluster.engine({ workflows: [waits] });
  const wrong = [
    [{ deadline: 0 }, "longer than 0"],
    [{ deadline: Date.now() }, "not epoch ms"],
    [{ deadline: new Date(Number.NaN) }, "a valid Date"],
    [{ deadline: "soon" }, "a duration"],
    [{ deadline: {} }, "a duration"],
    [{ deadline: null }, "a duration"],
    [{ ttl: "0 s" }, "longer than 0"],
    [{ ttl: new Date() }, "a duration"],
    [{ ttl: -1 }, "a duration"],
    [{ deadlines: "1 h" }, "unknown option"],
  ] as const;
  for (const [options, text] of wrong) {
    const rejected = engine.start(waits, undefined, options as never);
    await expect(rejected).rejects.toMatchObject({
      code: expect.stringMatching(/^(OPTION|DURATION)_INVALID$/),
      message: expect.stringContaining(text),
    });
  }
  expect((await engine.list()).items).toEqual([]);
  const far = await engine.start(waits, undefined, { deadline: new Date(8.64e15), ttl: "36500 d" });
  expect((await engine.get(far.id))?.limits).toMatchObject({ deadlineAt: 8.64e15 });
});

it("an exported run keeps its deadline in another store", async () => {
  const cluster = await inMemory();
  const client = await cluster.client();
  const run = await client.start(waits, undefined, { deadline: "1 hour", ttl: "1 minute" });
  const exported = JSON.stringify(await exportRun(cluster.connect(), run.id, { clock: cluster.world.clock }));
  const elsewhere = memoryStore();
  const other = await createClient({ store: elsewhere, world: cluster.world });
  await importRun(elsewhere, exported, { keepOpen: true });
  expect((await other.get(run.id))?.limits).toEqual((await client.get(run.id))?.limits);
  await other.close();
});
