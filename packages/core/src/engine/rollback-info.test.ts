import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type RollbackInfo, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("the info of a rollback, on the store $name", ({ create }) => {
  it("a rollback receives the failure that ended the run", async () => {
    const cluster = await create(onTestFinished);
    const infos: unknown[] = [];
    const pay = workflow("pay", async (ctx) => {
      const rollback = (value: string, { error, finished, attempt, idempotencyKey, signal }: RollbackInfo): void => {
        infos.push([value, finished, attempt, idempotencyKey, signal.aborted]);
        infos.push({ name: error.name, message: error.message, code: (error as { code?: string }).code });
      };
      await ctx.step("charge", () => "charged", { rollback });
      const error = Object.assign(new TypeError("no stock"), { code: "STOCK" });
      await ctx.step("ship", () => Promise.reject(error), { retry: false });
    });
    const engine = await cluster.engine({ workflows: [pay] });
    await cluster.failure(await engine.start(pay, undefined, { id: "r" }));
    expect(infos).toEqual([
      ["charged", true, 1, "r/charge/~rollback", false],
      { name: "TypeError", message: "no stock", code: "STOCK" },
    ]);
  });

  it("a rollback receives the same error in each attempt, also after a takeover", async () => {
    const cluster = await create(onTestFinished);
    const errors: string[] = [];
    const pay = workflow("pay", async (ctx) => {
      const run = (_: unknown, { error, attempt }: RollbackInfo): void => {
        errors.push(`${attempt}: ${error.message}, because ${(error.cause as Error).message}`);
        if (attempt === 1) throw new Error("the bank is closed");
      };
      await ctx.step("charge", () => 1, { rollback: { run, retry: { maxAttempts: 2, initialMs: 3_000, jitter: 0 } } });
      throw new CriticalError("lost", { cause: new Error("storm") });
    });
    const first = await cluster.engine({ workflows: [pay] });
    const run = await first.start(pay, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [pay] });
    await expect(cluster.finish(second.run(run.id))).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect(errors).toEqual(["1: lost, because storm", "2: lost, because storm"]);
  });

  it("a rollback of a cancelled run receives the reason of the cancel", async () => {
    const cluster = await create(onTestFinished);
    const errors: unknown[] = [];
    const pay = workflow("pay", async (ctx) => {
      const rollback = (_: number, { error }: RollbackInfo): void => {
        errors.push([(error as { code?: string }).code, error.message]);
      };
      await ctx.step("charge", () => 1, { rollback });
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [pay] });
    const run = await engine.start(pay, undefined);
    await cluster.world.settle();
    await run.cancel("will not come");
    await cluster.failure(run);
    expect(errors).toEqual([["RUN_CANCELLED", "will not come"]]);
  });

  it("rollbacks of children receive the error of the parent if the child completed, and a cancel if it was open", async () => {
    const cluster = await create(onTestFinished);
    const errors: unknown[] = [];
    const child = workflow("child", async (ctx, name: string) => {
      const rollback = (_: number, { error }: RollbackInfo): void => {
        errors.push([name, (error as { code?: string }).code ?? error.name, error.message]);
      };
      await ctx.step("charge", () => 1, { rollback });
      if (name === "open") await ctx.listen("never");
    });
    const parent = workflow("parent", async (ctx) => {
      await ctx.child(child, "done", { name: "done" });
      await ctx.startChild(child, "open", { name: "open", onParentClose: "cancel" });
      await ctx.listen("go");
      throw new CriticalError("lost");
    });
    const engine = await cluster.engine({ workflows: [parent, child] });
    const run = await engine.start(parent, undefined, { id: "p" });
    await cluster.world.settle();
    await run.send("go", 1);
    await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect(errors).toEqual([
      ["open", "RUN_CANCELLED", "run p//open was cancelled"],
      ["done", "CRITICAL", "lost"],
    ]);
  });
});
