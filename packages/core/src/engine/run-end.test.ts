import { describe, expect, it, onTestFinished } from "vitest";
import { type RunHandle, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("run ends with open branches, on the store $name", ({ create }) => {
  it("a run whose Promise.race is decided ends when the loser's step has ended and is recorded", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const aborted: boolean[] = [];
    const race = workflow("race", async (ctx) =>
      Promise.race([
        ctx.step("slow", async ({ signal }) => {
          const value = await new Promise<string>((resolve) => bodies.push(resolve));
          aborted.push(signal.aborted);
          return value;
        }),
        ctx.sleep("1 s").then(() => "timeout"),
      ]),
    );
    const engine = await cluster.engine({ workflows: [race] });
    const run = await engine.start(race, undefined);
    await cluster.world.advance("1 s");
    expect(await run.status()).toBe("running");
    bodies[0]!("late");
    expect(await cluster.result(run)).toBe("timeout");
    expect(aborted).toEqual([false]);
    expect((await run.journal()).map((record) => record.location)).toEqual(["sleep", "slow"]);
  });

  it("no step of a losing branch starts", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const race = workflow("race", async (ctx) => {
      const loser = async (): Promise<string> => {
        await ctx.sleep("5 s");
        await ctx.step("loser", () => void ran.push("loser"));
        return "loser";
      };
      return await Promise.race([ctx.step("winner", () => "winner"), loser()]);
    });
    const engine = await cluster.engine({ workflows: [race] });
    const run = await engine.start(race, undefined);
    expect(await cluster.result(run)).toBe("winner");
    await cluster.world.advance("10 s");
    expect(ran).toEqual([]);
    expect(await engine.get(run.id)).toMatchObject({ wait: null, wakeAt: null });
  });

  it("a run fails as soon as one branch fails, with that failure", async () => {
    const cluster = await create(onTestFinished);
    const fails = workflow("fails", async (ctx) => {
      await Promise.all([
        ctx.sleep("1 hour"),
        ctx.listen("never"),
        ctx.step("bad", () => Promise.reject(new RangeError("first")), { retry: false }),
      ]);
    });
    const engine = await cluster.engine({ workflows: [fails] });
    const error = await cluster.failure(await engine.start(fails, undefined));
    expect(error.cause).toMatchObject({ name: "RangeError", message: "first" });
  });
});

describe.each(TEST_STORES)("many runs, on the store $name", ({ create }) => {
  it("a run that loops without a wait does not starve other runs", async () => {
    const cluster = await create(onTestFinished);
    const order: string[] = [];
    const loop = workflow("loop", async (ctx) => {
      for (let i = 0; i < 300; i += 1) await ctx.step("round", () => i);
    });
    const quick = workflow("quick", async (ctx) => ctx.step("once", () => 1));
    const engine = await cluster.engine({ workflows: [loop, quick] });
    engine.on("run.completed", (event) => order.push(event.workflow));
    const runs: RunHandle[] = [await engine.start(loop, undefined)];
    for (let n = 0; n < 10; n += 1) runs.push(await engine.start(quick, undefined));
    for (const run of runs) await cluster.result(run);
    expect(order.indexOf("loop")).toBe(10);
  });

  it("two hundred runs share far fewer than two hundred commits", async () => {
    const cluster = await create(onTestFinished);
    const quick = workflow("quick", async (ctx, n: number) => ctx.step("once", () => n));
    const engine = await cluster.engine({ workflows: [quick] });
    const runs = await Promise.all(Array.from({ length: 200 }, (_, n) => engine.start(quick, n)));
    const results = await Promise.all(runs.map((run) => cluster.result(run)));
    expect(results).toEqual(Array.from({ length: 200 }, (_, n) => n));
    expect(cluster.commits(engine)).toBeLessThanOrEqual(6);
  });

  it("one event reaches all waiting runs", async () => {
    const cluster = await create(onTestFinished);
    const waits = workflow("waits", async (ctx) => (await ctx.awaitEvent("e")).value);
    const engine = await cluster.engine({ workflows: [waits], hotRuns: 50 });
    const runs = await Promise.all(Array.from({ length: 300 }, () => engine.start(waits, undefined)));
    await cluster.world.settle();
    expect(await engine.emit("e", 1, { consume: "all" })).toEqual({ kind: "delivered", runs: 300 });
    await cluster.world.advance("3 s");
    for (const run of runs) expect(await run.status()).toBe("completed");
  });

  it("a one-step run costs two commits, a step and the suspension after it one", async () => {
    const cluster = await create(onTestFinished);
    const one = workflow("one", async (ctx) => ctx.step("once", () => 1));
    const rests = workflow("rests", async (ctx) => {
      await ctx.step("once", () => 1);
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [one, rests] });
    await cluster.result(await engine.start(one, undefined));
    expect(cluster.commits(engine)).toBe(2);
    await engine.start(rests, undefined);
    await cluster.world.settle();
    expect(cluster.commits(engine)).toBe(4);
  });
});

describe.each(TEST_STORES)("waiting runs, on the store $name", ({ create }) => {
  const waits = workflow("waits", async (ctx) => (await ctx.listen("go")).value);

  it("a run receives a message sent after its worker crashed, before the lease expired", async () => {
    const cluster = await create(onTestFinished);
    const first = await cluster.engine({ workflows: [waits] });
    const run = await first.start(waits, undefined);
    await cluster.world.settle();
    cluster.crash(first);
    const second = await cluster.engine({ workflows: [waits] });
    expect(await second.send(run.id, "go", 1)).toEqual({ kind: "delivered" });
    await cluster.world.advance("6 s");
    expect(await cluster.result(second.run(run.id))).toBe(1);
  });

  it("a run receives a message after its worker was stopped for longer than its lease", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    await cluster.world.leap(60_000);
    await cluster.world.advance("2 s");
    await run.send("go", 1);
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe(1);
  });

  it("a run receives a message sent by another process", async () => {
    const cluster = await create(onTestFinished);
    const worker = await cluster.engine({ workflows: [waits] });
    const client = await cluster.engine();
    const run = await worker.start(waits, undefined);
    await cluster.world.settle();
    expect(await client.send(run.id, "go", 1)).toEqual({ kind: "delivered" });
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe(1);
  });

  it("a step between retries keeps its attempt count after a pause and after eviction", async () => {
    const cluster = await create(onTestFinished);
    const attempts: Record<string, number[]> = { a: [], b: [] };
    const flaky = workflow("flaky", async (ctx, name: string) =>
      ctx.step(
        "call",
        ({ attempt }) => {
          attempts[name]!.push(attempt);
          if (attempt < 3) throw new Error("no");
          return attempt;
        },
        { retry: { maxAttempts: 3, initialMs: "5 s", factor: 1, jitter: 0 } },
      ),
    );
    const engine = await cluster.engine({ workflows: [flaky], hotRuns: 1 });
    const a = await engine.start(flaky, "a");
    const b = await engine.start(flaky, "b");
    await cluster.world.advance("1 s");
    await a.pause();
    await cluster.world.advance("1 s");
    await a.resume();
    await cluster.world.advance("20 s");
    expect(await cluster.result(a)).toBe(3);
    expect(await cluster.result(b)).toBe(3);
    expect(attempts).toEqual({ a: [1, 2, 3], b: [1, 2, 3] });
  });
});
