import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type Ctx, type Engine, StoreError, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Known mistakes of workflow engines, one test each. */
describe.each(TEST_STORES)("known mistakes of workflow engines, on the store $name", ({ create }) => {
  it("every outcome is replayed and never executed again: undefined, null, a failure and a timeout", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const seen: unknown[] = [];
    const outcomes = workflow("outcomes", async (ctx) => {
      const note = (name: string): void => void ran.push(name);
      const nothing = await ctx.step("undefined", () => note("undefined"));
      const none = await ctx.step("null", () => {
        note("null");
        return null;
      });
      const failed = await ctx.tryStep("critical", () => {
        note("critical");
        // A second execution would succeed and change the outcome.
        if (ran.filter((name) => name === "critical").length === 1) throw new CriticalError("once");
        return "flipped";
      });
      const late = await ctx.tryStep(
        "timeout",
        () => {
          note("timeout");
          return new Promise(() => {});
        },
        { timeout: "1 s" },
      );
      const unheard = await ctx.listen("m", { timeout: "1 s" });
      seen.push([nothing, none, failed.ok, late.ok, unheard.timedOut]);
      await ctx.listen("end");
      return seen;
    });
    const first = await cluster.engine({ workflows: [outcomes] });
    const run = await first.start(outcomes, undefined);
    await cluster.world.advance("3 s");
    await first.send(run.id, "m", "too late");
    const second = await cluster.takeOver(first, { workflows: [outcomes] });
    const third = await cluster.takeOver(second, { workflows: [outcomes] });
    await third.send(run.id, "end", null);
    await cluster.finish(third.run(run.id));
    expect(ran).toEqual(["undefined", "null", "critical", "timeout"]);
    expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(new Set(["[null,null,false,false,true]"]));
    expect((seen[0] as unknown[])[0]).toBeUndefined();
    expect((seen.at(-1) as unknown[])[0]).toBeUndefined();
  });

  it("a step body that crashes its process is executed a bounded number of times", async () => {
    const cluster = await create(onTestFinished);
    let current: Engine;
    let bodies = 0;
    const poison = workflow("poison", async (ctx) => {
      await ctx.step("fine", () => 1);
      await ctx.step("kill", () => {
        bodies += 1;
        cluster.crash(current);
        return new Promise(() => {});
      });
    });
    const client = await cluster.engine();
    const run = await client.start(poison, undefined);
    for (let n = 0; n < 12 && (await run.status()) !== "failed"; n += 1) {
      current = await cluster.engine({ workflows: [poison], claimsMax: 4 });
      await cluster.world.advance("8 s");
    }
    expect((await cluster.failure(run)).cause).toMatchObject({ code: "POISONED" });
    // The first claim made progress with `fine`, so only the four claims after it count.
    expect(bodies).toBe(5);
  });

  it("no catch, finally or allSettled in user code sees a suspension", async () => {
    const cluster = await create(onTestFinished);
    const seen: string[] = [];
    const wary = workflow("wary", async (ctx) => {
      const guarded = async (name: string, wait: () => Promise<unknown>): Promise<void> => {
        try {
          await wait();
        } catch {
          seen.push(`catch ${name}`);
        } finally {
          seen.push(`finally ${name}`);
        }
      };
      await Promise.allSettled([
        guarded("sleep", () => ctx.sleep("10 s")),
        guarded("listen", () => ctx.listen("m")),
        guarded("event", () => ctx.awaitEvent("e")),
        guarded("select", () => ctx.select({ m: { message: "n" } })),
        guarded("retry", () =>
          ctx.step("flaky", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("no")) : 1), {
            retry: { initialMs: 10_000 },
          }),
        ),
      ]);
      return "all over";
    });
    const first = await cluster.engine({ workflows: [wary] });
    const run = await first.start(wary, undefined);
    await cluster.world.advance("1 s");
    const second = await cluster.takeOver(first, { workflows: [wary] });
    expect(seen).toEqual([]);
    expect(await second.run(run.id).status()).toBe("suspended");
    for (const name of ["m", "n"]) await second.send(run.id, name, 1);
    await second.emit("e", 1);
    expect(await cluster.finish(second.run(run.id))).toBe("all over");
    expect([...seen].sort()).toEqual(["event", "listen", "retry", "select", "sleep"].map((name) => `finally ${name}`));
  });

  it("two engines never append to one run, heartbeats protect a long step, and an ended run stays ended", async () => {
    const cluster = await create(onTestFinished);
    let cut = false;
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) =>
      ctx.step("long", () => new Promise<string>((resolve) => bodies.push(resolve))),
    );
    const first = await cluster.engine({
      workflows: [long],
      through: (store) =>
        intercepted(store, async (_, proceed) => {
          if (cut) throw new StoreError("STORE_UNAVAILABLE", "unknown", "cut");
          return await proceed();
        }),
    });
    const second = await cluster.engine({ workflows: [long] });
    const run = await first.start(long, undefined);
    await cluster.world.advance("30 s");
    expect(bodies).toHaveLength(1);
    cut = true;
    await cluster.world.advance("10 s");
    expect(bodies).toHaveLength(2);
    bodies[1]!("the heir's");
    await cluster.world.settle();
    expect(await cluster.result(second.run(run.id))).toBe("the heir's");
    bodies[0]!("the zombie's");
    cut = false;
    await cluster.world.advance("10 s");
    expect(await second.run(run.id).result()).toBe("the heir's");
    expect(await second.run(run.id).journal()).toHaveLength(1);
    expect(await second.cancel(run.id)).toBe(false);
  });

  it("a received message is recorded and leaves the inbox in one commit, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const receiver = workflow("receiver", async (ctx) => {
        const got: unknown[] = [];
        for (let i = 0; i < 3; i += 1) {
          got.push((await ctx.listen("m")).value);
          await ctx.step("work", () => 1);
        }
        return got;
      });
      const client = await cluster.engine();
      const run = await client.start(receiver, undefined);
      const doomed = await cluster.engine({ workflows: [receiver], crashAt });
      for (const n of [1, 2, 3]) {
        await cluster.world.settle();
        await run.send("m", n);
      }
      await cluster.world.settle();
      await cluster.engine({ workflows: [receiver] });
      expect(await cluster.finish(run)).toEqual([1, 2, 3]);
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  it("deadlines are stored, never fire early, do not affect later waits, and survive a crash", async () => {
    const cluster = await create(onTestFinished);
    const waits = workflow("waits", async (ctx) => {
      const first = await ctx.listen("m", { timeout: "10 s" });
      // The deadline of the first wait passes while the second is open.
      const second = await ctx.listen("m", { timeout: "1 minute" });
      return [first.timedOut, second.timedOut];
    });
    const engine = await cluster.engine({ workflows: [waits] });
    const stale = await engine.start(waits, undefined);
    await cluster.world.advance("5 s");
    await stale.send("m", 1);
    await cluster.world.advance("30 s");
    expect(await stale.status()).toBe("suspended");
    await stale.send("m", 2);
    expect(await cluster.result(stale)).toEqual([false, false]);

    const long = workflow("long", async (ctx) => {
      await ctx.sleep("30 days");
      return "awake";
    });
    const sleeper = await cluster.engine({ workflows: [long], poll: "10 days", lease: "60 days" });
    const run = await sleeper.start(long, undefined);
    await cluster.world.settle();
    // Both workers crash before the deadline.
    cluster.crash(engine);
    cluster.crash(sleeper);
    await cluster.world.leap(30 * 86_400_000 - 60_000);
    const heir = await cluster.engine({ workflows: [long], poll: "10 s" });
    await cluster.world.advance("50 s");
    expect(await heir.run(run.id).status()).toBe("suspended");
    await cluster.world.leap(40 * 86_400_000);
    expect(await cluster.finish(heir.run(run.id))).toBe("awake");
  });

  it("messages and events sent before the wait are received in order, and a replayed dead letter wakes the run", async () => {
    const cluster = await create(onTestFinished);
    const receives = workflow("receives", async (ctx) => {
      await ctx.sleep("1 s");
      const got: unknown[] = [];
      for (let i = 0; i < 4; i += 1) {
        const next = await ctx.select({ message: { message: "x" }, event: { event: "x" }, late: { after: "10 s" } });
        got.push([next.key, next.value]);
      }
      return got;
    });
    const engine = await cluster.engine({ workflows: [receives], maxPendingEventsPerType: 2 });
    const run = await engine.start(receives, undefined);
    for (const n of [1, 2, 3]) await engine.emit("x", `event ${n}`);
    await run.send("x", "message");
    await cluster.world.advance("2 s");
    const [letter] = (await engine.deadLetters.list()).items;
    expect(letter).toMatchObject({ value: "event 1", reason: "overflow" });
    expect(await run.status()).toBe("suspended");
    expect(await engine.deadLetters.replay(letter!.id)).toEqual({ kind: "delivered", runs: 1 });
    expect(await cluster.result(run)).toEqual([
      ["message", "message"],
      ["event", "event 2"],
      ["event", "event 3"],
      ["event", "event 1"],
    ]);
  });

  it("parallel branches progress independently, and a race returns its winner at once", async () => {
    const cluster = await create(onTestFinished);
    const start = cluster.world.now();
    const at: Record<string, number> = {};
    const bodies: Array<() => void> = [];
    const both = workflow("both", async (ctx) => {
      const work = ctx.step("slow", () => new Promise<string>((resolve) => bodies.push(() => resolve("work"))));
      const winner = await Promise.race([work, ctx.sleep("1 s").then(() => "timeout")]);
      at.raced = ctx.now() - start;
      await Promise.all([
        work,
        (async () => {
          await ctx.sleep("1 s");
          await ctx.step("beside", () => {
            at.beside = cluster.world.now() - start;
          });
        })(),
      ]);
      return winner;
    });
    const engine = await cluster.engine({ workflows: [both] });
    const run = await engine.start(both, undefined);
    await cluster.world.advance("5 s");
    expect(at).toEqual({ raced: 1_000, beside: 2_000 });
    expect(await run.status()).toBe("running");
    bodies[0]!();
    expect(await cluster.result(run)).toBe("timeout");
  });

  it("a run that continues as itself keeps a bounded journal and resumes in the middle, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const ran: string[] = [];
      const loop = workflow("loop", async (ctx: Ctx, outer: number): Promise<string> => {
        for (let inner = 0; inner < 3; inner += 1) {
          await ctx.step("work", () => void ran.push(`${outer}.${inner}`));
          if (inner === 1) await ctx.sleep(10);
        }
        return outer === 2 ? "done" : await ctx.continueAs(outer + 1);
      });
      const client = await cluster.engine();
      const run = await client.start(loop, 0);
      const doomed = await cluster.engine({ workflows: [loop], crashAt });
      await cluster.world.advance("1 s");
      await cluster.engine({ workflows: [loop] });
      expect(await cluster.finish(run)).toBe("done");
      const all = [0, 1, 2].flatMap((outer) => [0, 1, 2].map((inner) => `${outer}.${inner}`));
      expect([...new Set(ran)]).toEqual(all);
      expect(ran.length).toBeLessThanOrEqual(all.length + 1);
      expect((await run.journal()).length).toBe(4);
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(12);
  });

  it("a renamed first step pauses the run without changes, and compatible code resumes it", async () => {
    const cluster = await create(onTestFinished);
    const named = (name: string) =>
      workflow("versioned", async (ctx) => {
        const value = await ctx.step(name, () => name);
        await ctx.listen("go");
        return value;
      });
    const first = await cluster.engine({ workflows: [named("charge")] });
    const run = await first.start(named("charge"), undefined);
    await cluster.world.settle();
    await first.shutdown();
    const renamed = await cluster.engine({ workflows: [named("bill")] });
    await renamed.send(run.id, "go", null);
    await cluster.world.advance("2 s");
    const summary = await renamed.get(run.id);
    expect(summary).toMatchObject({ status: "paused", error: { code: "HISTORY_DIVERGED" } });
    expect(summary?.error?.message).toMatch(
      /at charge: the journal has step \(record 1\), the code requested step at bill/,
    );
    await renamed.shutdown();
    const fixed = await cluster.engine({ workflows: [named("charge")] });
    await fixed.resume(run.id);
    expect(await cluster.finish(fixed.run(run.id))).toBe("charge");
  });
});
