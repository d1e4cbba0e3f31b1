import { describe, expect, it, onTestFinished } from "vitest";
import type { Workflow } from "../workflow/ctx.ts";
import { programWorkflow, workflow } from "../workflow/workflow.ts";
import { type TestEngine, type TestEngineOptions, testEngine } from "./test-engine.ts";

const DAY_MS = 86_400_000;

async function create(options: TestEngineOptions): Promise<TestEngine> {
  const test = await testEngine(options);
  onTestFinished(() => test.close());
  return test;
}

/** A workflow in the type of the `workflows` option. */
function listed<Input, Output>(each: Workflow<Input, Output>): Workflow {
  return each as unknown as Workflow;
}

describe("testEngine", () => {
  it("ten years of sleep pass while a test awaits the result", async () => {
    const naps = workflow("naps", async (ctx) => {
      const startedAt = ctx.now();
      for (let nap = 0; nap < 1_000; nap += 1) await ctx.sleep(3.65 * DAY_MS);
      return ctx.now() - startedAt;
    });
    const test = await create({ workflows: [naps] });
    const run = await test.start(naps, undefined);
    expect(await run.result()).toBe(3_650 * DAY_MS);
    expect(await run.journal()).toHaveLength(1_000);
  });

  it("advance moves the time by exactly the given duration", async () => {
    const trial = workflow("trial", async (ctx) => {
      const answer = await ctx.listen<string>("subscribe", { timeout: "3 days" });
      return answer.timedOut ? "left" : answer.value;
    });
    const test = await create({ workflows: [trial], now: new Date("2030-01-01") });
    const ann = await test.start(trial, undefined, { id: "ann" });
    const bob = await test.start(trial, undefined, { id: "bob" });
    await test.advance("2 days");
    expect(new Date(test.now())).toEqual(new Date("2030-01-03"));
    expect(await ann.status()).toBe("suspended");
    expect(await test.send("ann", "subscribe", "basic")).toMatchObject({ kind: "delivered" });
    expect(await ann.status()).toBe("completed");
    expect(await ann.result()).toBe("basic");
    expect(new Date(test.now())).toEqual(new Date("2030-01-03"));
    expect(await bob.result()).toBe("left");
    expect(new Date(test.now())).toEqual(new Date("2030-01-04"));
  });

  it("stubs replace step bodies by name and by location", async () => {
    const order = workflow("order", async (ctx) => {
      const fee = await ctx.step("charge", (): number => {
        throw new Error("the network");
      });
      const { more } = await ctx.join("also", { more: (c) => c.step("charge", (): number => -1) });
      const kept = await ctx.transaction("keep", (): number => -2);
      return [fee, more, kept, await ctx.step("own", () => 4)];
    });
    const steps = { charge: () => 1, "also/more/charge": () => 2, keep: () => 3 };
    const test = await create({ workflows: [order], steps });
    const run = await test.start(order, undefined);
    expect(await run.result()).toEqual([1, 2, 3, 4]);
    expect((await run.journal()).map(({ kind }) => kind)).toEqual(["step", "join", "step", "transaction", "step"]);
  });

  it("close rejects a misspelt stub with the nearest step, once", async () => {
    const mails: string[] = [];
    const trial = workflow("trial", async (ctx) => {
      await ctx.step("check", () => 1);
      await ctx.step("welcome", () => mails.push("sent"));
    });
    const test = await create({ workflows: [trial], steps: { check: () => 2, wellcome: () => "sent" } });
    await (await test.start(trial, undefined)).result();
    expect(mails).toEqual(["sent"]);
    await expect(test.close()).rejects.toMatchObject({
      code: "STUB_UNUSED",
      message: expect.stringContaining('"wellcome" (the nearest step without a stub is "welcome")'),
    });
    await test.close();
  });

  it("close accepts an unused stub if every step had a stub, if no step ran, or if unusedSteps allows it", async () => {
    const pay = workflow("pay", async (ctx) => {
      await ctx.step("charge", () => "the network");
    });
    const unused = { charge: () => 1, refund: () => 2 };
    const stubbed = await create({ workflows: [pay], steps: unused });
    await (await stubbed.start(pay, undefined)).result();
    await stubbed.close();
    await (await create({ workflows: [pay], steps: { refund: () => 2 } })).close();
    const shared = await create({ workflows: [pay], steps: { refund: () => 2 }, unusedSteps: "allow" });
    await (await shared.start(pay, undefined)).result();
    await shared.close();
  });

  it("stubs replace step bodies of a program that is not code", async () => {
    const program = programWorkflow<undefined, unknown>("program", (host) => ({
      start: () =>
        host.issue({
          kind: "step",
          record: "step",
          location: "ask",
          issuedAt: host.now(),
          body: () => "the world",
          retry: { maxAttempts: 1, initialMs: 0, factor: 1, maxMs: 0, jitter: 0 },
          shouldRetry: null,
          timeoutMs: null,
          retryOnTimeout: false,
          ephemeral: false,
          idempotencyKey: null,
          attempts: 0,
          retryAt: 0,
          settle: (completion) =>
            host.finish({ kind: "completed", output: completion.outcome === "ok" ? completion.value : null }),
        }),
    }));
    const test = await create({ workflows: [listed(program)], steps: { ask: () => "the stub" } });
    expect(await (await test.start(program, undefined)).result()).toBe("the stub");
  });

  it("a failing stub is retried by the step's policy, and the time passes between attempts", async () => {
    const flaky = workflow("flaky", async (ctx) =>
      ctx.step("call", () => "never", { retry: { initialMs: 3_600_000, maxMs: 7_200_000 } }),
    );
    let left = 2;
    const call = (): string => {
      left -= 1;
      if (left >= 0) throw new Error("busy");
      return "at last";
    };
    const test = await create({ workflows: [flaky], steps: { call } });
    const startedAt = test.now();
    expect(await (await test.start(flaky, undefined)).result()).toBe("at last");
    expect(test.now() - startedAt).toBeGreaterThan(2 * 3_600_000);
  });

  it("ids, times and random numbers are the same in each test, and differ with another seed", async () => {
    const facts = workflow("facts", async (ctx) => {
      const { waited } = await ctx.join("both", {
        waited: (c) => c.sleep("1 day"),
        other: (c) => c.step("s", () => 1),
      });
      return [ctx.runId, ctx.uuid(), ctx.random(), ctx.now(), waited];
    });
    const once = async (seed?: number): Promise<unknown> => {
      const test = await create({ workflows: [facts], ...(seed === undefined ? {} : { seed }) });
      return await (await test.start(facts, undefined)).result();
    };
    expect(await once()).toEqual(await once());
    expect(await once(7)).not.toEqual(await once());
  });

  it("start waits for step bodies that perform I/O", async () => {
    const slow = workflow("slow", async (ctx) =>
      ctx.step("read", () => new Promise<string>((resolve) => setTimeout(() => resolve("read"), 5))),
    );
    const test = await create({ workflows: [slow] });
    const run = await test.start(slow, undefined);
    expect(await run.status()).toBe("completed");
    expect(await run.result()).toBe("read");
  });

  it("the time passes while a step body waits for its timeout", async () => {
    const hanging = workflow("hanging", async (ctx) => {
      const tried = await ctx.tryStep(
        "hang",
        ({ signal }) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", resolve);
          }),
        { timeout: "1 minute" },
      );
      return tried.ok ? "ok" : tried.failure.kind;
    });
    const test = await create({ workflows: [hanging] });
    expect(await (await test.start(hanging, undefined)).result()).toBe("timeout");
  });

  it("result rejects with RUN_WAITS and the missing message when time alone cannot end the run", async () => {
    const waits = workflow("waits", async (ctx) => (await ctx.listen("approve")).value);
    const test = await create({ workflows: [waits] });
    const run = await test.start(waits, undefined, { id: "w-1" });
    await expect(run.result()).rejects.toMatchObject({
      code: "RUN_WAITS",
      message: expect.stringContaining('waiting for message "approve"'),
    });
    await test.send("w-1", "approve", "yes");
    expect(await run.result()).toBe("yes");
  });

  it("result with a timeout advances the time to it and rejects with RESULT_TIMEOUT", async () => {
    const waits = workflow("waits", async (ctx) => (await ctx.listen("approve", { timeout: "2 days" })).timedOut);
    const test = await create({ workflows: [waits] });
    const run = await test.start(waits);
    const startedAt = test.now();
    await expect(run.result({ timeout: "1 day" })).rejects.toMatchObject({ code: "RESULT_TIMEOUT" });
    expect(test.now() - startedAt).toBe(86_400_000);
    expect(await run.result({ timeout: "2 days" })).toBe(true);
  });

  it("the time stands still while shouldRetry performs I/O", async () => {
    const slow = workflow("slow", async (ctx) => {
      const shouldRetry = (): Promise<boolean> => new Promise((resolve) => setTimeout(() => resolve(false), 5));
      return await ctx.tryStep("read", () => Promise.reject(new Error("no")), { retry: { shouldRetry } });
    });
    const test = await create({ workflows: [slow] });
    expect(await (await test.start(slow)).result()).toMatchObject({ ok: false });
  });

  it("result advances the time while a parent waits for a sleeping child", async () => {
    const child = workflow("child", async (ctx) => {
      await ctx.sleep("3 days");
      return (await ctx.awaitEvent<number>("price")).value;
    });
    const parent = workflow("parent", async (ctx) => (await ctx.child(child, undefined)) + 1);
    const test = await create({ workflows: [child, parent] });
    const run = await test.start(parent, undefined);
    await test.emit("price", 41);
    expect(await run.result()).toBe(42);
  });

  it("several results can be awaited at the same time", async () => {
    const nap = workflow("nap", async (ctx, days: number) => {
      await ctx.sleep(days * DAY_MS);
      return days;
    });
    const test = await create({ workflows: [nap] });
    const runs = await Promise.all([3, 1, 2].map((days) => test.start(nap, days)));
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual([3, 1, 2]);
  });

  it("result rejects with RUN_FAILED for a failed run, and with RUN_NOT_FOUND for a missing run", async () => {
    const fails = workflow("fails", async () => {
      throw new Error("no");
    });
    const test = await create({ workflows: [fails] });
    await expect((await test.start(fails, undefined)).result()).rejects.toMatchObject({ code: "RUN_FAILED" });
    await expect(test.run("missing").result()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });
});
