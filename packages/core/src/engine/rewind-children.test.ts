import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("rewinding a run with removed children, on the store $name", ({ create }) => {
  it("a rewind is rejected if the run would wait for a removed child, and accepted to before its start", async () => {
    const cluster = await create(onTestFinished);
    const slow = workflow("slow", (ctx) => ctx.sleep("1 year"));
    const quick = workflow("quick", async () => 1);
    const parent = workflow("parent", async (ctx) => {
      // Retention keeps the parent while this child is open.
      await ctx.startChild(slow, undefined, { onParentClose: "abandon" });
      return await ctx.child(quick, undefined);
    });
    const engine = await cluster.engine({ workflows: [slow, quick, parent] });
    const run = await engine.start(parent, undefined, { id: "r" });
    expect(await cluster.result(run)).toBe(1);
    await cluster.world.advance("1 s");
    expect(await engine.prune({ retention: { completed: 0 } })).toMatchObject({ runs: 1 });
    const before = await run.journal();
    await expect(engine.rewind("r", "quick/result")).rejects.toMatchObject({
      code: "CHILD_GONE",
      message: expect.stringContaining("r//quick"),
    });
    expect(await run.journal()).toEqual(before);
    expect(await run.status()).toBe("completed");
    await engine.rewind("r", "quick");
    expect(await cluster.result(run)).toBe(1);
  });
});

describe.each(TEST_STORES)("rewinding an ended run, on the store $name", ({ create }) => {
  it("a rewind of an ended run is rejected while a child is still being cancelled", async () => {
    const cluster = await create(onTestFinished);
    const undone: Array<() => void> = [];
    const kid = workflow("kid", async (ctx) => {
      await ctx.step("a", () => 1, { rollback: () => new Promise<void>((resolve) => undone.push(resolve)) });
      await ctx.sleep("1 year");
    });
    let isBroken = true;
    const parent = workflow("parent", async (ctx) => {
      const child = await ctx.startChild(kid, undefined, { onParentClose: "cancel" });
      await ctx.sleep("1 s");
      const isEarly = await ctx.step("b", () => isBroken);
      return isEarly ? "early" : await child.result().catch((error: Error) => error.name);
    });
    const engine = await cluster.engine({ workflows: [kid, parent] });
    const run = await engine.start(parent, undefined, { id: "r" });
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe("early");
    isBroken = false;
    await cluster.world.advance("1 s");
    expect(await engine.run("r//kid").status()).toBe("compensating");
    await expect(run.rewind("b")).rejects.toMatchObject({
      code: "CHILD_OPEN",
      message: expect.stringContaining("r//kid"),
    });
    expect(await run.status()).toBe("completed");
    for (const resolve of undone) resolve();
    await cluster.world.advance("1 s");
    await run.rewind("b");
    expect(await cluster.result(run)).toBe("ChildWorkflowFailed");
  });
});
