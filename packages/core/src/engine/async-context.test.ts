import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** What a request puts into its context: a tenant, a user, a trace. */
const storage = new AsyncLocalStorage<string>();
const seen = (): string => storage.getStore() ?? "none";
const REQUESTS = 20;

describe.each(TEST_STORES)("asynchronous contexts, on the store $name", ({ create, staysHot }) => {
  it("step bodies of overlapping requests never see another request's context", async () => {
    const cluster = await create(onTestFinished);
    const contexts: string[] = [];
    const note = async (): Promise<void> => {
      contexts.push(seen());
      await null;
      contexts.push(seen());
    };
    const pay = workflow("pay", async (ctx) => {
      contexts.push(seen());
      await ctx.step("first", note);
      await ctx.sleep(3);
      await ctx.step("second", note);
      await ctx.listen("go");
      contexts.push(seen());
      await Promise.all([ctx.step("third", note), ctx.step("fourth", note)]);
    });
    const engine = await storage.run("opener", () => cluster.engine({ workflows: [pay] }));
    const runs = await Promise.all(
      Array.from({ length: REQUESTS }, (_, i) => storage.run(`request ${i}`, () => engine.start(pay, undefined))),
    );
    await cluster.world.advance("1 s");
    await Promise.all(runs.map((run, i) => storage.run(`sender ${i}`, () => engine.send(run.id, "go", i))));
    for (const run of runs) await cluster.result(run);
    expect(new Set(contexts)).toEqual(new Set(["none"]));
    // Without hot sessions the code before each wait is replayed once.
    expect(contexts).toHaveLength(REQUESTS * (staysHot ? 10 : 12));
  });

  it("a step body sees the context that the workflow code set around its call, live and after a takeover", async () => {
    const cluster = await create(onTestFinished);
    const contexts: string[] = [];
    const note = (step: string) => async (): Promise<void> => {
      contexts.push(`${step}: ${seen()}`);
      await null;
      contexts.push(`${step} later: ${seen()}`);
    };
    const pay = workflow("pay", async (ctx) => {
      await storage.run("a", () => ctx.step("first", note("first")));
      await ctx.listen("go");
      contexts.push(`code: ${seen()}`);
      await Promise.all([
        storage.run("b", () => ctx.step("second", note("second"))),
        storage.run("c", () => ctx.step("third", note("third"))),
      ]);
    });
    const one = await cluster.engine({ workflows: [pay] });
    const run = await storage.run("starter", () => one.start(pay, undefined, { id: "r" }));
    await cluster.world.advance("1 s");
    await one.shutdown();
    await storage.run("sender", async () => {
      const two = await cluster.engine({ workflows: [pay] });
      await two.send(run.id, "go", null);
      await cluster.world.advance("5 s");
      await cluster.result(two.run("r"));
    });
    expect(contexts.filter((line) => line.startsWith("first"))).toEqual(["first: a", "first later: a"]);
    expect(contexts.filter((line) => line.startsWith("code"))).toEqual(["code: none"]);
    expect(contexts.filter((line) => line.startsWith("second"))).toEqual(["second: b", "second later: b"]);
    expect(contexts.filter((line) => line.startsWith("third"))).toEqual(["third: c", "third later: c"]);
  });

  it("rollbacks, retry decisions, abort listeners and retried bodies run in the context of their step", async () => {
    const cluster = await create(onTestFinished);
    const contexts: string[] = [];
    const note = (what: string): number => contexts.push(`${what}: ${seen()}`);
    const pay = workflow("pay", async (ctx) => {
      const retry = {
        maxAttempts: 2,
        initialMs: 5,
        shouldRetry: () => {
          note("shouldRetry");
          return true;
        },
      };
      await storage.run("a", () => ctx.step("done", () => 1, { rollback: () => void note("rollback") }));
      await storage.run("b", () =>
        ctx.step(
          "flaky",
          ({ attempt }) => {
            note(`attempt ${attempt}`);
            if (attempt === 1) throw new Error("once");
          },
          { retry },
        ),
      );
      const hung = storage.run("c", () =>
        ctx.tryStep(
          "hung",
          ({ signal }) =>
            new Promise<void>((resolve) => {
              signal.addEventListener("abort", () => {
                note("abort");
                resolve();
              });
            }),
          { timeout: 20 },
        ),
      );
      await hung;
      throw new CriticalError("undo");
    });
    const engine = await cluster.engine({ workflows: [pay] });
    const run = await storage.run("starter", () => engine.start(pay, undefined));
    await storage.run("other", () => cluster.world.advance("1 s"));
    await expect(cluster.result(run)).rejects.toThrow("undo");
    expect(contexts).toEqual(["attempt 1: b", "shouldRetry: b", "attempt 2: b", "abort: c", "rollback: a"]);
  });

  it("listeners of engine.on run in the context of their registration, and the log in none", async () => {
    const cluster = await create(onTestFinished);
    const contexts: string[] = [];
    const pay = workflow("pay", async (ctx) => {
      storage.run("code", () => ctx.log("here"));
      await ctx.step("one", () => 1);
      throw new Error("over");
    });
    const log = (level: string, text: string): void => {
      if (text === "here" || level === "error" || level === "warn") contexts.push(`log: ${seen()}`);
    };
    const engine = await cluster.engine({ workflows: [pay], log });
    storage.run("listener", () => engine.on("run.failed", () => void contexts.push(`on: ${seen()}`)));
    engine.on("run.failed", () => {
      throw new Error("a listener that throws is logged");
    });
    const run = await storage.run("starter", () => engine.start(pay, undefined));
    await expect(storage.run("waiter", () => cluster.result(run))).rejects.toThrow("over");
    expect(contexts[0]).toBe("log: code");
    expect(contexts).toContain("on: listener");
    expect(new Set(contexts)).toEqual(new Set(["log: code", "on: listener", "log: none"]));
  });
});
