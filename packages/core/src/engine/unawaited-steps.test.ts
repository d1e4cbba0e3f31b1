import { describe, expect, it, onTestFinished } from "vitest";
import { type RollbackInfo, workflow } from "../index.ts";
import { crashEverywhere } from "../testing/crash-everywhere.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** A body that ends when the test says so. */
function gate(): { readonly body: () => Promise<string>; readonly open: () => void; readonly calls: () => number } {
  let calls = 0;
  const waiting: Array<() => void> = [];
  return {
    body: () => {
      calls += 1;
      return new Promise((resolve) => waiting.push(() => resolve("done")));
    },
    open: () => {
      for (const resolve of waiting.splice(0)) resolve();
    },
    calls: () => calls,
  };
}

const warnings = (cluster: TestCluster) => cluster.log.filter(({ text }) => text.startsWith("workflow returned"));

describe.each(TEST_STORES)("steps that a workflow did not await, on the store $name", ({ create }) => {
  it("a run ends after a step that its code did not await has ended and is recorded", async () => {
    const cluster = await create(onTestFinished);
    const mail = gate();
    const order = workflow("order", async (ctx) => {
      void ctx.step("mail", mail.body);
      return "ordered";
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined, { id: "r" });
    await cluster.world.settle();
    expect([await run.status(), mail.calls()]).toEqual(["running", 1]);
    mail.open();
    expect(await cluster.result(run)).toBe("ordered");
    expect((await run.journal()).map(({ location, value }) => [location, value])).toEqual([["mail", "done"]]);
    expect(warnings(cluster)).toEqual([
      {
        level: "warn",
        text: "workflow returned before these steps ended; await them; the run ends after them",
        fields: { run: "r", workflow: "order", locations: "mail", steps: 1 },
      },
    ]);
  });

  it("a step that the code did not await is retried until it succeeds, also after a takeover", async () => {
    const cluster = await create(onTestFinished);
    const attempts: number[] = [];
    const order = workflow("order", async (ctx) => {
      const call = ({ attempt }: { attempt: number }): void => {
        attempts.push(attempt);
        if (attempt < 3) throw new Error("busy");
      };
      void ctx.step("mail", call, { retry: { maxAttempts: 3, initialMs: 10_000, factor: 1, jitter: 0 } });
      await ctx.step("charge", () => 1);
      return "ordered";
    });
    const first = await cluster.engine({ workflows: [order] });
    const run = await first.start(order, undefined);
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
    const second = await cluster.takeOver(first, { workflows: [order] });
    expect(await cluster.finish(second.run(run.id))).toBe("ordered");
    expect(attempts).toEqual([1, 2, 3]);
    expect(warnings(cluster)).toHaveLength(1);
  });

  it("a run completes although a step that its code did not await has failed", async () => {
    const cluster = await create(onTestFinished);
    const order = workflow("order", async (ctx) => {
      ctx.step("mail", () => Promise.reject(new Error("no")), { retry: false }).catch(() => undefined);
      return "ordered";
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined);
    expect(await cluster.result(run)).toBe("ordered");
    expect((await run.journal()).map(({ location, outcome }) => `${location} ${outcome}`)).toEqual(["mail failed"]);
  });

  it("waits that a workflow left open are dropped without a warning", async () => {
    const cluster = await create(onTestFinished);
    const order = workflow("order", async (ctx) => {
      await Promise.race([ctx.step("a", () => 1), ctx.sleep("1 hour"), ctx.listen("never")]);
      return "ordered";
    });
    const engine = await cluster.engine({ workflows: [order] });
    expect(await cluster.result(await engine.start(order, undefined))).toBe("ordered");
    expect(warnings(cluster)).toEqual([]);
  });

  it("steps behind a step that the code did not await do not start", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const order = workflow("order", async (ctx) => {
      void (async () => {
        await ctx.step("first", () => void ran.push("first"));
        await ctx.step("second", () => void ran.push("second"));
      })();
      return "ordered";
    });
    const engine = await cluster.engine({ workflows: [order] });
    expect(await cluster.result(await engine.start(order, undefined))).toBe("ordered");
    expect(ran).toEqual(["first"]);
  });

  it("a cancel ends a run that waits for steps its code did not await, and undoes what it did", async () => {
    const cluster = await create(onTestFinished);
    const undone: unknown[] = [];
    const order = workflow("order", async (ctx) => {
      const rollback = (_: unknown, { error }: RollbackInfo): void => void undone.push(error.message);
      await ctx.step("charge", () => 1, { rollback });
      void ctx.step("mail", () => Promise.reject(new Error("busy")), { retry: { maxAttempts: 9, initialMs: 60_000 } });
      return "ordered";
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined);
    await cluster.world.settle();
    expect(await run.cancel("too late")).toBe(true);
    expect(await cluster.failure(run)).toMatchObject({ code: "RUN_CANCELLED" });
    expect(undone).toEqual(["too late"]);
  });

  it("a run fails at its maxRunDuration while it waits for a step that its code did not await", async () => {
    const cluster = await create(onTestFinished);
    const mail = gate();
    const order = workflow("order", { maxRunDuration: "1 minute" }, async (ctx) => {
      void ctx.step("mail", mail.body);
      return "ordered";
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, undefined);
    await cluster.world.advance("2 minutes");
    expect((await cluster.failure(run)).cause).toMatchObject({ code: "RUN_DURATION_EXCEEDED" });
  });

  it("continueAs starts the next generation after the steps that the code did not await", async () => {
    const cluster = await create(onTestFinished);
    const mail = gate();
    const order = workflow("order", async (ctx, round: number): Promise<number> => {
      if (round === 2) return round;
      void ctx.step("mail", mail.body);
      return await ctx.continueAs(2);
    });
    const engine = await cluster.engine({ workflows: [order] });
    const run = await engine.start(order, 1);
    await cluster.world.settle();
    expect((await engine.get(run.id))?.generation).toBe(0);
    mail.open();
    expect(await cluster.result(run)).toBe(2);
  });
});

describe.each(TEST_STORES.slice(0, 1))("steps that a workflow did not await, at every crash", ({ create }) => {
  it("every step that the code did not await is recorded once, whichever commit the process crashes at", async () => {
    const createWorkflow = () => {
      const ran: string[] = [];
      const order = workflow("order", async (ctx) => {
        void ctx.step("a", () => void ran.push("a"));
        await ctx.step("b", () => void ran.push("b"));
        void ctx.step("c", () => void ran.push("c"));
        void ctx.sleep("1 hour");
        return "ordered";
      });
      return { workflow: order, ran };
    };
    const crashes = await crashEverywhere(
      () => create(onTestFinished),
      createWorkflow,
      ({ output, journal }) => {
        expect(output).toBe("ordered");
        expect([...journal].sort()).toEqual(["a", "b", "c"]);
      },
    );
    expect(crashes).toBeGreaterThan(2);
  });
});
