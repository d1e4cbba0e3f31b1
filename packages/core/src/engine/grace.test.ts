import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type RollbackInfo, type StepInfo, workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
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

async function locations(
  cluster: TestCluster,
  engine: { run(id: string): { journal(): Promise<readonly { location: string; outcome: string }[]> } },
) {
  await cluster.world.settle();
  return (await engine.run("r").journal()).map(({ location, outcome }) => `${location} ${outcome}`);
}

describe.each(TEST_STORES)("step bodies of a run that fails, on the store $name", ({ create }) => {
  it("a body that ends within the grace after a sibling failed the run is recorded and undone", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => {
      await Promise.all([
        ctx.step("charge", paid.body, { rollback: paid.rollback }),
        ctx.step("ship", () => Promise.reject(new CriticalError("no stock"))),
      ]);
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined, { id: "r" });
    await cluster.world.advance("9 s");
    expect([await run.status(), paid.notes]).toEqual(["running", ["started", "aborted"]]);
    paid.end("payment");
    expect((await cluster.failure(run)).cause).toMatchObject({ message: "no stock" });
    expect(paid.notes).toEqual(["started", "aborted", "undone payment"]);
    expect(await locations(cluster, engine)).toEqual([
      "ship failed",
      "charge ok",
      "~compensate failed",
      "charge/~rollback ok",
    ]);
  });

  it("a body that does not end within the grace is abandoned, and its late result is dropped", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const order = workflow("order", async (ctx) => {
      await Promise.all([
        ctx.step("charge", paid.body, { rollback: paid.rollback }),
        ctx.step("ship", () => Promise.reject(new CriticalError("no stock"))),
      ]);
    });
    const engine = await cluster.engine({ workflows: [order], grace: "2 s" });
    const run = await engine.start(order, undefined, { id: "r" });
    await cluster.world.advance("3 s");
    expect(await run.status()).toBe("failed");
    paid.end("payment");
    expect(await locations(cluster, engine)).toEqual(["ship failed"]);
    expect(paid.notes).toEqual(["started", "aborted"]);
  });

  it("a body that throws when it is aborted is recorded as failed and is not retried", async () => {
    const cluster = await create(onTestFinished);
    let attempts = 0;
    const order = workflow("order", async (ctx) => {
      const call = ({ signal }: StepInfo): Promise<never> => {
        attempts += 1;
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      };
      await Promise.all([
        ctx.step("call", call, { retry: { maxAttempts: 5 } }),
        ctx.step("ship", () => Promise.reject(new CriticalError("no stock"))),
      ]);
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined, { id: "r" });
    expect((await cluster.failure(run)).cause).toMatchObject({ message: "no stock" });
    expect(await locations(cluster, engine)).toEqual(["ship failed", "call failed"]);
    expect(attempts).toBe(1);
  });

  it("steps that have not started, and steps between attempts, do not start after the run failed", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const order = workflow("order", async (ctx) => {
      const flaky = (): never => {
        ran.push("flaky");
        throw new Error("busy");
      };
      const later = async (): Promise<void> => {
        await ctx.sleep("1 s");
        await ctx.step("later", () => void ran.push("later"));
      };
      const fail = async (): Promise<void> => {
        await ctx.sleep("500 ms");
        await ctx.step("ship", () => Promise.reject(new CriticalError("no stock")));
      };
      const slow = ctx.step("slow", () => new Promise(() => {}));
      const calls = ctx.step("flaky", flaky, { retry: { maxAttempts: 9, initialMs: "1 s" } });
      await Promise.all([slow, calls, later(), fail()]);
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined, { id: "r" });
    await cluster.world.advance("12 s");
    expect(await run.status()).toBe("failed");
    expect(ran).toEqual(["flaky"]);
  });

  it("a child that is cancelled with its parent gives its body time to end", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const pays = workflow("pays", async (ctx) => ctx.step("charge", paid.body, { rollback: paid.rollback }));
    const order = workflow("order", async (ctx) => {
      await Promise.all([
        ctx.child(pays, undefined),
        ctx.sleep("1 s").then(() => ctx.step("ship", () => Promise.reject(new CriticalError("no stock")))),
      ]);
    });
    const engine = await cluster.engine({ workflows: [order, pays] });
    const run = await engine.start(order, undefined, { id: "r" });
    await cluster.world.advance("3 s");
    expect(paid.notes).toEqual(["started", "aborted"]);
    paid.end("payment");
    await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect(paid.notes).toEqual(["started", "aborted", "undone payment"]);
  });

  it("a run that is stopping when its worker crashes ends in another worker, and undoes what is recorded", async () => {
    const cluster = await create(onTestFinished);
    const paid = charge();
    const other = charge();
    const order = workflow("order", async (ctx) => {
      await Promise.all([
        ctx.step("charge", paid.body, { rollback: paid.rollback }),
        ctx.step("reserve", other.body, { rollback: other.rollback }),
        ctx.step("ship", () => Promise.reject(new CriticalError("no stock"))),
      ]);
    });
    const first = await cluster.engine({ workflows: [order] });
    const run = await first.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    paid.end("payment");
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [order] });
    await expect(cluster.finish(second.run(run.id))).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect(paid.notes).toEqual(["started", "aborted", "undone payment"]);
    expect(other.notes).toEqual(["started", "aborted"]);
  });
});
