import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("engine.retry, on the store $name", ({ create }) => {
  it("retry continues from the failed step, and does not execute earlier steps again", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    let broken = true;
    const order = workflow("order", async (ctx) => {
      await ctx.step("reserve", () => ran.push("reserve"));
      await ctx.step("charge", () => {
        ran.push("charge");
        if (broken) throw new Error("no answer");
      });
      return await ctx.step("ship", () => ran.push("ship"));
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined, { id: "r" });
    await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED" });
    broken = false;
    expect(await engine.retry("r", { id: "again", by: "ann", why: "it is back" })).toMatchObject({ records: 3 });
    expect(await cluster.finish(engine.run("r"))).toBe(6);
    expect(ran).toEqual(["reserve", "charge", "charge", "charge", "charge", "ship"]);
    // A repeated retry with the same id changes nothing, although the run has ended since.
    expect(await engine.retry("r", { id: "again" })).toMatchObject({ records: 3 });
    expect(await engine.run("r").status()).toBe("completed");
  });

  it("retry after a failure in workflow code continues from the last record, with the current code", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const code = (isFixed: boolean) =>
      workflow("order", async (ctx) => {
        await ctx.step("reserve", () => ran.push("reserve"));
        if (!isFixed) throw new TypeError("a mistake");
        return "done";
      });
    const before = await cluster.engine({ workflows: [code(false)] });
    const run = await before.start(code(false), undefined, { id: "r" });
    await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED" });
    await before.shutdown();
    const after = await cluster.engine({ workflows: [code(true)] });
    await after.retry("r");
    expect(await cluster.finish(after.run("r"))).toBe("done");
    expect(ran).toEqual(["reserve"]);
  });

  it("retry starts a failed child again and waits for the new one", async () => {
    const cluster = await create(onTestFinished);
    let broken = true;
    const child = workflow("child", async (ctx) => {
      if (broken) throw new Error("broken");
      return await ctx.step("work", () => "worked");
    });
    const parent = workflow("parent", async (ctx) => await ctx.child(child, undefined));
    const engine = await cluster.engine({ workflows: [child, parent] });
    const run = await engine.start(parent, undefined, { id: "r" });
    await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED" });
    broken = false;
    await engine.retry("r");
    expect(await cluster.finish(engine.run("r"))).toBe("worked");
  });

  it("retry rejects a run that has not failed, a missing run and a compensated run", async () => {
    const cluster = await create(onTestFinished);
    const fine = workflow("fine", async () => 1);
    const undone = workflow("undone", async (ctx) => {
      await ctx.step("book", () => 1, { rollback: () => undefined });
      await ctx.step("pay", () => Promise.reject(new Error("no")), { retry: false });
    });
    const engine = await cluster.engine({ workflows: [fine, undone] });
    await cluster.finish(await engine.start(fine, undefined, { id: "fine" }));
    await expect(cluster.finish(await engine.start(undone, undefined, { id: "undone" }))).rejects.toThrow();
    await expect(engine.retry("fine")).rejects.toMatchObject({ code: "RUN_NOT_FAILED" });
    await expect(engine.retry("nobody")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await expect(engine.retry("undone")).rejects.toMatchObject({ code: "STEP_UNDONE" });
    expect(await engine.run("undone").status()).toBe("failed");
  });
});
