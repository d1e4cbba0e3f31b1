import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type RollbackInfo, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** A step that never ends by itself, with a rollback that also undoes an unfinished body. */
function charge() {
  const notes: string[] = [];
  const waiting: Array<(value: string) => void> = [];
  const run = (value: string | undefined, { finished }: RollbackInfo): void =>
    void notes.push(`undone ${String(value)}, finished ${finished}`);
  return {
    notes,
    body: () => {
      notes.push("started");
      return new Promise<string>((resolve) => waiting.push(resolve));
    },
    end: (value: string) => {
      for (const resolve of waiting.splice(0)) resolve(value);
    },
    options: { rollback: { run, unfinished: true } } as const,
  };
}

describe.each(TEST_STORES)("rollbacks of unfinished bodies, on the store $name", ({ create }) => {
  it("a body that is abandoned after the grace is rolled back as unfinished if its step asks for it", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => {
      await Promise.all([
        ctx.step("charge", paid.body, paid.options),
        ctx.sleep("1 s").then(() => ctx.step("ship", () => Promise.reject(new CriticalError("no stock")))),
      ]);
    });
    const engine = await cluster.engine({ workflows: [order], grace: "2 s" });
    const run = await engine.start(order, undefined);
    await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect(paid.notes).toEqual(["started", "undone undefined, finished false"]);
    expect((await run.journal()).map(({ kind, location }) => `${kind} ${location}`)).toEqual([
      "started charge",
      "sleep sleep",
      "step ship",
      "compensate ~compensate",
      "rollback charge/~rollback",
    ]);
  });

  it("a body that ends in time is rolled back once, as finished", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", paid.body, paid.options);
      await ctx.listen("never");
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined);
    await cluster.world.settle();
    const cancelled = run.cancel();
    await cluster.world.settle();
    paid.end("payment");
    expect(await cancelled).toBe(true);
    await cluster.failure(run);
    expect(paid.notes).toEqual(["started", "undone payment, finished true"]);
  });

  it("a body whose process crashed is rolled back as unfinished when the run is cancelled meanwhile", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => ctx.step("charge", paid.body, paid.options));
    const first = await cluster.engine({ workflows: [order] });
    await first.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    cluster.crash(first);
    const client = await cluster.engine();
    const cancelled = client.cancel("r");
    await cluster.world.advance("10 s");
    expect(await cancelled).toBe(true);
    const second = await cluster.engine({ workflows: [order] });
    await expect(cluster.finish(second.run("r"))).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    expect(paid.notes).toEqual(["started", "undone undefined, finished false"]);
  });

  it("the start of a step is recorded once, however often it is retried and its worker crashes", async () => {
    const cluster = await create(onTestFinished);
    let calls = 0;
    const order = workflow("order", async (ctx) => {
      const call = (): string => {
        calls += 1;
        if (calls < 3) throw new Error("busy");
        return "done";
      };
      const rollback = { run: () => undefined, unfinished: true } as const;
      return await ctx.step("charge", call, { rollback, retry: { maxAttempts: 3, initialMs: "10 s" } });
    });
    const first = await cluster.engine({ workflows: [order] });
    await first.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [order] });
    expect(await cluster.finish(second.run("r"))).toBe("done");
    const kinds = (await second.run("r").journal()).map(({ kind }) => kind);
    expect(kinds).toEqual(["started", "retry", "retry", "step"]);
  });

  it("a checkpoint does not drop a step that has not ended", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => {
      const charged = ctx.step("charge", paid.body, paid.options);
      await ctx.rollbackCheckpoint("point");
      await ctx.listen("go");
      return await charged;
    });
    const engine = await cluster.engine({ workflows: [order], grace: 0 });
    const run = await engine.start(order, undefined);
    await cluster.world.settle();
    const cancelled = run.cancel();
    await cluster.world.advance("1 s");
    expect(await cancelled).toBe(true);
    await cluster.failure(run);
    expect(paid.notes).toEqual(["started", "undone undefined, finished false"]);
  });

  it("a step that lost a race is rolled back as unfinished when the run fails later", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => {
      await ctx.race("first", {
        charge: (c) => c.step("charge", paid.body, paid.options),
        clock: (c) => c.sleep("1 s"),
      });
      await ctx.listen("go");
      throw new CriticalError("lost");
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined, { id: "r" });
    await cluster.world.advance("2 s");
    const second = await cluster.takeOver(engine, { workflows: [order] });
    await second.send("r", "go", 1);
    await expect(cluster.finish(second.run(run.id))).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect(paid.notes).toEqual(["started", "undone undefined, finished false"]);
  });
});
