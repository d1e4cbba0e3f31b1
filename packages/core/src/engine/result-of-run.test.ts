import { describe, expect, it, onTestFinished } from "vitest";
import { type PawlError, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const slow = workflow("slow", async (ctx, ms: number) => {
  await ctx.sleep(ms);
  return `after ${ms}`;
});
const waiter = workflow("waiter", async (ctx, id: string) => ctx.result<string>(id));

describe.each(TEST_STORES)("ctx.result, on the store $name", ({ create }) => {
  it("a run gets the output of a run that is not its child, and is suspended until then", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [slow, waiter], concurrency: 1 });
    await engine.start(slow, 86_400_000, { id: "s" });
    const run = await engine.start(waiter, "s");
    await cluster.world.advance("1 hour");
    expect(await run.status()).toBe("suspended");
    expect((await run.journal()).length).toBeLessThan(20);
    await cluster.world.advance("24 hours");
    expect(await cluster.result(run)).toBe("after 86400000");
    expect((await run.journal()).length).toBeLessThan(20);
  });

  it("the output of an ended run is returned at once, also undefined", async () => {
    const cluster = await create(onTestFinished);
    const empty = workflow("empty", async () => undefined);
    const engine = await cluster.engine({ workflows: [empty, waiter] });
    await cluster.result(await engine.start(empty, undefined, { id: "e" }));
    expect(await cluster.result(await engine.start(waiter, "e"))).toBeUndefined();
  });

  it("the wait rejects if the run failed, was cancelled, is missing, or is the waiting run itself", async () => {
    const cluster = await create(onTestFinished);
    const fails = workflow("fails", { codeErrors: "fail" }, async () => {
      throw Object.assign(new RangeError("too far"), { code: "E_RANGE" });
    });
    const asks = workflow("asks", async (ctx, ids: readonly string[]) => {
      const codes: unknown[] = [];
      for (const id of ids)
        await ctx.result(id).catch((error: PawlError) => codes.push([error.code, (error.cause as PawlError)?.code]));
      return codes;
    });
    const engine = await cluster.engine({ workflows: [slow, fails, asks] });
    await engine.start(fails, undefined, { id: "failed" });
    await engine.start(slow, 60_000, { id: "cancelled" });
    await engine.cancel("cancelled");
    await cluster.world.settle();
    const run = await engine.start(asks, ["failed", "cancelled", "missing", "self", ""], { id: "self" });
    expect(await cluster.finish(run)).toEqual([
      ["RUN_FAILED", "E_RANGE"],
      ["RUN_CANCELLED", "RUN_CANCELLED"],
      ["RUN_NOT_FOUND", undefined],
      ["OPTION_INVALID", undefined],
      ["ID_INVALID", undefined],
    ]);
  });

  it("the output that a run got is the same after a crash, even if the other run was started again since", async () => {
    const cluster = await create(onTestFinished);
    let value = 1;
    const changing = workflow("changing", async (ctx) => ctx.step("value", () => value));
    const keeps = workflow("keeps", async (ctx) => {
      const got = await ctx.result("c");
      await ctx.listen("go");
      return got;
    });
    const first = await cluster.engine({ workflows: [changing, keeps] });
    const other = await first.start(changing, undefined, { id: "c" });
    const run = await first.start(keeps);
    await cluster.world.advance("1 s");
    value = 2;
    await other.rewind("value");
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [changing, keeps] });
    await second.send(run.id, "go", null);
    expect(await cluster.finish(second.run(run.id))).toBe(1);
    expect(await second.run("c").result()).toBe(2);
  });
});
