import { describe, expect, it, onTestFinished } from "vitest";
import { type RunHandle, workflow } from "../index.ts";
import { STAGES } from "../testing/stages.ts";

describe.each(STAGES)("a run that ends with branches open, on the store $name", ({ create }) => {
  it("ends at once when its race is decided; the loser's body is aborted, and what it brings is dropped", async () => {
    const stage = await create(onTestFinished);
    const heard: string[] = [];
    const bodies: Array<(error: Error) => void> = [];
    const race = workflow("race", async (ctx) =>
      Promise.race([
        ctx.step("slow", ({ signal }) => {
          signal.addEventListener("abort", () => heard.push("aborted"));
          return new Promise<string>((_, reject) => bodies.push(reject));
        }),
        ctx.sleep("1 s").then(() => "timeout"),
      ]),
    );
    const engine = await stage.engine({ workflows: [race] });
    const run = await engine.start(race, undefined);
    await stage.world.advance("1 s");
    expect(await stage.result(run)).toBe("timeout");
    expect(heard).toEqual(["aborted"]);
    bodies[0]!(new Error("late"));
    await stage.world.settle();
    expect((await run.journal()).map((record) => record.location)).toEqual(["sleep"]);
  });

  it("starts no step of a branch that lost", async () => {
    const stage = await create(onTestFinished);
    const ran: string[] = [];
    const race = workflow("race", async (ctx) => {
      const loser = async (): Promise<string> => {
        await ctx.sleep("5 s");
        await ctx.step("loser", () => void ran.push("loser"));
        return "loser";
      };
      return await Promise.race([ctx.step("winner", () => "winner"), loser()]);
    });
    const engine = await stage.engine({ workflows: [race] });
    const run = await engine.start(race, undefined);
    expect(await stage.result(run)).toBe("winner");
    await stage.world.advance("10 s");
    expect(ran).toEqual([]);
    expect(await engine.get(run.id)).toMatchObject({ wait: null, wakeAt: null });
  });

  it("that fails in one branch fails at once, with that failure", async () => {
    const stage = await create(onTestFinished);
    const fails = workflow("fails", async (ctx) => {
      await Promise.all([
        ctx.sleep("1 hour"),
        ctx.listen("never"),
        ctx.step("bad", () => Promise.reject(new RangeError("first")), { retry: false }),
      ]);
    });
    const engine = await stage.engine({ workflows: [fails] });
    const error = await stage.failure(await engine.start(fails, undefined));
    expect(error.cause).toMatchObject({ name: "RangeError", message: "first" });
  });
});

describe.each(STAGES)("many runs, on the store $name", ({ create }) => {
  it("are not starved by one that loops without a wait", async () => {
    const stage = await create(onTestFinished);
    const order: string[] = [];
    const loop = workflow("loop", async (ctx) => {
      for (let i = 0; i < 300; i += 1) await ctx.step("round", () => i);
    });
    const quick = workflow("quick", async (ctx) => ctx.step("once", () => 1));
    const engine = await stage.engine({ workflows: [loop, quick] });
    engine.on("run.completed", (event) => order.push(event.workflow));
    const runs: RunHandle[] = [await engine.start(loop, undefined)];
    for (let n = 0; n < 10; n += 1) runs.push(await engine.start(quick, undefined));
    for (const run of runs) await stage.result(run);
    expect(order.indexOf("loop")).toBe(10);
  });

  it("share commits: two hundred runs of one step cost far fewer than two hundred commits", async () => {
    const stage = await create(onTestFinished);
    const quick = workflow("quick", async (ctx, n: number) => ctx.step("once", () => n));
    const engine = await stage.engine({ workflows: [quick] });
    const runs = await Promise.all(Array.from({ length: 200 }, (_, n) => engine.start(quick, n)));
    const results = await Promise.all(runs.map((run) => stage.result(run)));
    expect(results).toEqual(Array.from({ length: 200 }, (_, n) => n));
    expect(stage.commits(engine)).toBeLessThanOrEqual(6);
  });

  it("all hear of one event", async () => {
    const stage = await create(onTestFinished);
    const hears = workflow("hears", async (ctx) => (await ctx.awaitEvent("e")).value);
    const engine = await stage.engine({ workflows: [hears], hotRuns: 50 });
    const runs = await Promise.all(Array.from({ length: 300 }, () => engine.start(hears, undefined)));
    await stage.world.settle();
    expect(await engine.emit("e", 1, { consume: "all" })).toEqual({ kind: "delivered", runs: 300 });
    await stage.world.advance("3 s");
    for (const run of runs) expect(await run.status()).toBe("completed");
  });

  it("a one-step run costs two commits, a step and the suspension after it one", async () => {
    const stage = await create(onTestFinished);
    const one = workflow("one", async (ctx) => ctx.step("once", () => 1));
    const rests = workflow("rests", async (ctx) => {
      await ctx.step("once", () => 1);
      await ctx.listen("go");
    });
    const engine = await stage.engine({ workflows: [one, rests] });
    await stage.result(await engine.start(one, undefined));
    expect(stage.commits(engine)).toBe(2);
    await engine.start(rests, undefined);
    await stage.world.settle();
    expect(stage.commits(engine)).toBe(4);
  });
});

describe.each(STAGES)("a run that waits, on the store $name", ({ create }) => {
  const waits = workflow("waits", async (ctx) => (await ctx.listen("go")).value);

  it("gets a message that was sent after its worker died and before anybody knew", async () => {
    const stage = await create(onTestFinished);
    const first = await stage.engine({ workflows: [waits] });
    const run = await first.start(waits, undefined);
    await stage.world.settle();
    stage.crash(first);
    const second = await stage.engine({ workflows: [waits] });
    expect(await second.send(run.id, "go", 1)).toEqual({ kind: "delivered" });
    await stage.world.advance("6 s");
    expect(await stage.result(second.run(run.id))).toBe(1);
  });

  it("gets a message after its worker was stopped beyond its lease", async () => {
    const stage = await create(onTestFinished);
    const engine = await stage.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    await stage.world.settle();
    await stage.world.leap(60_000);
    await stage.world.advance("2 s");
    await run.send("go", 1);
    await stage.world.advance("2 s");
    expect(await stage.result(run)).toBe(1);
  });

  it("gets a message sent through another process than its worker's", async () => {
    const stage = await create(onTestFinished);
    const worker = await stage.engine({ workflows: [waits] });
    const client = await stage.engine();
    const run = await worker.start(waits, undefined);
    await stage.world.settle();
    expect(await client.send(run.id, "go", 1)).toEqual({ kind: "delivered" });
    await stage.world.advance("2 s");
    expect(await stage.result(run)).toBe(1);
  });

  it("in a back-off keeps its count of tries over a pause, and over being forgotten for want of room", async () => {
    const stage = await create(onTestFinished);
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
    const engine = await stage.engine({ workflows: [flaky], hotRuns: 1 });
    const a = await engine.start(flaky, "a");
    const b = await engine.start(flaky, "b");
    await stage.world.advance("1 s");
    await a.pause();
    await stage.world.advance("1 s");
    await a.resume();
    await stage.world.advance("20 s");
    expect(await stage.result(a)).toBe(3);
    expect(await stage.result(b)).toBe(3);
    expect(attempts).toEqual({ a: [1, 2, 3], b: [1, 2, 3] });
  });
});
