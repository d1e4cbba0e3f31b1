import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, workflow } from "../index.ts";
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
      workflow("order", { codeErrors: "fail" }, async (ctx) => {
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

  it("retry of a run that failed with an AggregateError goes back to the failed steps that it contains", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    let broken = true;
    const attempt = (ctx: Ctx, name: string, message = `${name} is down`) =>
      ctx.step(
        name,
        () => {
          ran.push(name);
          if (broken) throw new Error(message);
          return name;
        },
        { retry: false },
      );
    const any = workflow("any", async (ctx) => {
      await attempt(ctx, "handled", "b is down").catch(() => undefined);
      return await Promise.any(["a", "b"].map((name) => attempt(ctx, name)));
    });
    const settled = workflow("settled", async (ctx) => {
      const results = await Promise.allSettled(["c", "d"].map((name) => attempt(ctx, name, "the same")));
      const failures = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      if (failures.length > 0) throw new Error("some failed", { cause: new AggregateError(failures, "two failures") });
      return results.map(({ status }) => status);
    });
    const engine = await cluster.engine({ workflows: [any, settled] });
    await engine.start(any, undefined, { id: "a" });
    await engine.start(settled, undefined, { id: "s" });
    for (const id of ["a", "s"])
      await expect(cluster.finish(engine.run(id))).rejects.toMatchObject({ code: "RUN_FAILED" });
    broken = false;
    ran.length = 0;
    expect(await engine.retry("a")).toMatchObject({ records: 2 });
    expect(await cluster.finish(engine.run("a"))).toBe("a");
    expect(await engine.retry("s")).toMatchObject({ records: 2 });
    expect(await cluster.finish(engine.run("s"))).toEqual(["fulfilled", "fulfilled"]);
    expect(ran).toEqual(["a", "b", "c", "d"]);
  });

  it("retry resumes a cancelled run and its cancelled children where they stopped", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const child = workflow("child", async (ctx) => {
      await ctx.step("pack", () => ran.push("pack"));
      return (await ctx.listen<string>("packed")).value;
    });
    const order = workflow("order", async (ctx) => {
      await ctx.step("reserve", () => ran.push("reserve"));
      return [await ctx.child(child, undefined), await ctx.step("ship", () => ran.push("ship"))];
    });
    const engine = await cluster.engine({ workflows: [order, child] });
    const run = await engine.start(order, undefined, { id: "r" });
    const early = await engine.start(order, undefined, { id: "early", delay: "1 hour" });
    await cluster.world.settle();
    for (const { id } of [run, early]) await engine.cancel(id, "by mistake");
    await cluster.world.advance("1 s");
    expect([await run.status(), await engine.run("r//child").status()]).toEqual(["cancelled", "cancelled"]);
    expect(await engine.retry("r", { by: "ann" })).toMatchObject({ reopened: ["r//child"] });
    await engine.retry("early");
    await cluster.world.advance("1 s");
    const children = await engine.list({ workflow: "child" });
    for (const { id } of children.items) await engine.send(id, "packed", "yes");
    for (const id of ["r", "early"]) expect(await cluster.finish(engine.run(id))).toEqual(["yes", expect.any(Number)]);
    expect(ran.sort()).toEqual(["pack", "pack", "reserve", "reserve", "ship", "ship"]);
  });

  it("retry rejects a cancelled run whose steps were rolled back", async () => {
    const cluster = await create(onTestFinished);
    const order = workflow("order", async (ctx) => {
      await ctx.step("book", () => 1, { rollback: () => undefined });
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [order] });
    await engine.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    await engine.cancel("r");
    await cluster.world.advance("1 s");
    expect(await engine.run("r").status()).toBe("cancelled");
    await expect(engine.retry("r")).rejects.toMatchObject({ code: "STEP_UNDONE" });
    await expect(engine.resume("r")).rejects.toMatchObject({ code: "RUN_ENDED" });
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
