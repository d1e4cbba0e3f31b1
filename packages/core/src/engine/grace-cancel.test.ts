import { describe, expect, it, onTestFinished } from "vitest";
import { type PawlError, type RollbackInfo, type StepInfo, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** A step that ends when the test says so, and the notes of what happened to it. */
function charge() {
  const notes: string[] = [];
  const waiting: Array<(value: string) => void> = [];
  return {
    notes,
    body: ({ signal }: StepInfo) => {
      notes.push("started");
      signal.addEventListener("abort", () => notes.push("aborted"));
      return new Promise<string>((resolve) => waiting.push(resolve));
    },
    end: (value: string) => {
      for (const resolve of waiting.splice(0)) resolve(value);
    },
    rollback: (value: unknown, { finished }: RollbackInfo) =>
      void notes.push(`undone ${String(value)}${finished ? "" : ", unfinished"}`),
  };
}

describe.each(TEST_STORES)("step bodies of a run that is cancelled, on the store $name", ({ create }) => {
  it("a cancel gives a running body time to end, and undoes it", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => ctx.step("charge", paid.body, { rollback: paid.rollback }));
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    const cancelled = run.cancel("changed my mind");
    await cluster.world.advance("5 s");
    expect(paid.notes).toEqual(["started", "aborted"]);
    paid.end("payment");
    expect(await cancelled).toBe(true);
    expect((await cluster.failure(run)).cause).toMatchObject({ message: "changed my mind" });
    expect(paid.notes).toEqual(["started", "aborted", "undone payment"]);
  });

  it("a cancel ends a run whose body ignores its signal when the grace has passed", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => ctx.step("charge", paid.body, { rollback: paid.rollback }));
    const engine = await cluster.engine({ workflows: [order], grace: "3 s" });
    const run = await engine.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    const cancelled = run.cancel();
    await cluster.world.advance("2 s");
    expect(await run.status()).toBe("running");
    await cluster.world.advance("1 s");
    expect([await cancelled, await run.status()]).toEqual([true, "cancelled"]);
  });

  it("a cancel from another process is recorded by the owner of the run", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => ctx.step("charge", paid.body, { rollback: paid.rollback }));
    const worker = await cluster.engine({ workflows: [order] });
    const client = await cluster.engine();
    const run = await worker.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    const cancelled = client.cancel(run.id);
    await cluster.world.advance("2 s");
    paid.end("payment");
    await cluster.world.advance("2 s");
    expect(await cancelled).toBe(true);
    expect(await cluster.failure(run)).toMatchObject({ code: "RUN_CANCELLED" });
    expect(paid.notes).toEqual(["started", "aborted", "undone payment"]);
  });

  it("a cancel takes over a run whose owner has crashed, when its lease has expired", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => ctx.step("charge", paid.body, { rollback: paid.rollback }));
    const worker = await cluster.engine({ workflows: [order] });
    const client = await cluster.engine();
    await worker.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    cluster.crash(worker);
    const cancelled = client.cancel("r");
    await cluster.world.advance("10 s");
    expect([await cancelled, await client.run("r").status()]).toEqual([true, "cancelled"]);
  });

  it("a grace of 0 abandons running bodies at once", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => ctx.step("charge", paid.body, { rollback: paid.rollback }));
    const engine = await cluster.engine({ workflows: [order], grace: 0 });
    const run = await engine.start(order, undefined);
    await cluster.world.settle();
    const cancelled = run.cancel();
    await cluster.world.advance(1);
    expect([await cancelled, await run.status()]).toEqual([true, "cancelled"]);
  });

  it("the signal of an aborted body has the code RUN_CANCELLED", async () => {
    const cluster = await create(onTestFinished);
    const codes: unknown[] = [];
    const order = workflow("order", async (ctx) => {
      ctx.signal.addEventListener("abort", () => codes.push((ctx.signal.reason as PawlError).code));
      return await ctx.step("call", ({ signal }) => {
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            codes.push((signal.reason as PawlError).code);
            resolve(null);
          }),
        );
      });
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined);
    await cluster.world.settle();
    expect(await run.cancel()).toBe(true);
    expect(codes).toEqual(["RUN_CANCELLED", "RUN_CANCELLED"]);
  });
});
