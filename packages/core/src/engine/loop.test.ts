import { describe, expect, it, onTestFinished } from "vitest";
import { Loop, type PawlError, workflow } from "../index.ts";
import { crashEverywhere } from "../testing/crash-everywhere.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("ctx.loop, on the store $name", ({ create }) => {
  it("a loop repeats with its state until an iteration breaks, and returns the value of the break", async () => {
    const cluster = await create(onTestFinished);
    const summing = workflow("summing", async (ctx, upTo: number) => {
      return await ctx.loop({
        name: "sum",
        state: { n: 0, sum: 0 },
        run: async (c, { n, sum }) => {
          if (n === upTo) return Loop.break(sum);
          const next = await c.step("add", () => sum + n);
          return Loop.continue({ n: n + 1, sum: next });
        },
      });
    });
    const engine = await cluster.engine({ workflows: [summing] });
    expect(await cluster.finish(await engine.start(summing, 45))).toBe(990);
  });

  it("a loop without a state continues after an iteration that returns nothing", async () => {
    const cluster = await create(onTestFinished);
    let rounds = 0;
    const plain = workflow("plain", async (ctx) => {
      const value = await ctx.loop({
        name: "poll",
        run: async (c, _state, round) => {
          await c.step("s", () => {
            rounds += 1;
          });
          return round === 2 ? Loop.break() : undefined;
        },
      });
      await ctx.listen("go");
      return value === undefined ? "void" : value;
    });
    const engine = await cluster.engine({ workflows: [plain] });
    const run = await engine.start(plain, undefined, { id: "r" });
    await cluster.world.advance("1 s");
    const heir = await cluster.takeOver(engine, { workflows: [plain] });
    await heir.run("r").send("go", 1);
    expect(await cluster.finish(heir.run("r"))).toBe("void");
    expect(rounds).toBe(3);
    expect(run.id).toBe("r");
  });

  it("the journal of an endless loop stays bounded: old iterations are removed in the commit of the state", async () => {
    const cluster = await create(onTestFinished);
    let rounds = 0;
    const endless = workflow("endless", async (ctx) => {
      await ctx.loop({
        name: "poll",
        state: 0,
        commitInterval: 5,
        historyKeep: 3,
        run: async (c, n) => {
          await c.step("s", () => {
            rounds += 1;
          });
          await c.sleep("1 s");
          return Loop.continue(n + 1);
        },
      });
    });
    const engine = await cluster.engine({ workflows: [endless] });
    const run = await engine.start(endless, undefined, { id: "r" });
    await cluster.world.advance("63 s");
    const locations = (await run.journal()).map(({ location }) => location);
    expect(locations.length).toBeLessThan(25);
    expect(locations[0]).toBe("poll/~57/s");
    expect(locations).toContain("poll/~60");
    const before = rounds;
    const heir = await cluster.takeOver(engine, { workflows: [endless] });
    await cluster.world.advance("10 s");
    // Only iterations from the takeover on are executed again.
    expect(rounds - before).toBeGreaterThan(5);
    expect(rounds - before).toBeLessThanOrEqual(18);
    const after = (await heir.run("r").journal()).map(({ location }) => location);
    expect(after.length).toBeLessThan(25);
  });

  it("a loop resumes at its stored iteration and state, with nested loops, joins and races, whichever commit the process crashes at", async () => {
    const make = () => {
      const ran: string[] = [];
      const nested = workflow("nested", async (ctx) => {
        return await ctx.loop({
          name: "outer",
          state: { total: 0 },
          commitInterval: 2,
          historyKeep: 1,
          run: async (c, { total }, round) => {
            if (round === 3) return Loop.break(total);
            const inner = await c.loop({
              name: "inner",
              state: 0,
              commitInterval: 1,
              historyKeep: 0,
              run: async (d, n) => {
                if (n === 3) return Loop.break(n);
                await d.step("s", () => ran.push(`${round}.${n}`));
                if (n === 1) await d.sleep("1 s");
                return Loop.continue(n + 1);
              },
            });
            const { x } = await c.join("join", { x: (d) => d.step("s", () => 1), y: (d) => d.sleep("1 s") });
            const { value } = await c.race("race", { a: (d) => d.step("s", () => 2), b: (d) => d.listen("never") });
            return Loop.continue({ total: total + inner + x + (typeof value === "number" ? value : 0) });
          },
        });
      });
      return { workflow: nested, ran };
    };
    const crashes = await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output, ran }) => {
        expect(output).toBe(18);
        expect(new Set(ran).size).toBe(9);
        expect(ran.length).toBeLessThanOrEqual(10);
      },
    );
    expect(crashes).toBeGreaterThan(24);
  });

  it("operations that an iteration leaves open end with the iteration, also in replay", async () => {
    const make = () => {
      const ran: string[] = [];
      const careless = workflow("careless", async (ctx) => {
        await ctx.loop({
          name: "l",
          state: 0,
          commitInterval: 1,
          historyKeep: 0,
          run: async (c, n) => {
            await Promise.race([
              c.step("quick", () => n),
              (async () => {
                await c.sleep("1 s");
                await c.step("late", () => ran.push(`late ${n}`), { rollback: () => undefined });
              })(),
            ]);
            await c.sleep(n === 1 ? "3 s" : 0, { name: "pause" });
            return n === 3 ? Loop.break() : Loop.continue(n + 1);
          },
        });
        await ctx.sleep("3 s");
        return "done";
      });
      return { workflow: careless, ran };
    };
    let seen = 0;
    const crashes = await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output, ran }) => {
        expect(output).toBe("done");
        // For a worker that takes over late both sleeps have ended, and the iteration ends before the step starts.
        expect(ran.filter((line) => line !== "late 1")).toEqual([]);
        seen += ran.length;
      },
    );
    expect(crashes).toBeGreaterThan(10);
    expect(seen).toBeGreaterThan(0);
  });

  it("a step removed from an iteration is a divergence", async () => {
    const cluster = await create(onTestFinished);
    const code = (asks: boolean) =>
      workflow("changing", async (ctx) => {
        await ctx.loop({
          name: "l",
          run: async (c, _state, round) => {
            await c.step("a", () => 1);
            if (asks) await c.step("b", () => 1);
            if (round === 2) await c.listen("go");
          },
        });
      });
    const engine = await cluster.engine({ workflows: [code(true)] });
    await engine.start(code(true), undefined, { id: "r" });
    await cluster.world.advance("1 s");
    const heir = await cluster.takeOver(engine, { workflows: [code(false)] });
    await heir.run("r").send("go", 1);
    await cluster.world.advance("1 s");
    expect(await heir.run("r").status()).toBe("paused");
    expect(JSON.stringify(cluster.log)).toMatch(/at l\/~0\/b: the journal has step/);
  });

  it("an ended loop keeps its value and its last iterations in the journal", async () => {
    const cluster = await create(onTestFinished);
    const finite = workflow("finite", async (ctx) => {
      const value = await ctx.loop({
        name: "l",
        state: 0,
        commitInterval: 100,
        historyKeep: 2,
        run: async (c, n) => {
          await c.step("s", () => n);
          return n === 9 ? Loop.break("done") : Loop.continue(n + 1);
        },
      });
      await ctx.sleep("20 s");
      return value;
    });
    const engine = await cluster.engine({ workflows: [finite] });
    const run = await engine.start(finite, undefined, { id: "r" });
    await cluster.world.advance("1 s");
    expect((await run.journal()).map(({ location }) => location)).toEqual(["l/~8/s", "l/~9/s", "l"]);
    const heir = await cluster.takeOver(engine, { workflows: [finite] });
    expect(await cluster.finish(heir.run("r"))).toBe("done");
  });

  it("a failed iteration fails the loop, and invalid return values and options are rejected", async () => {
    const cluster = await create(onTestFinished);
    const failing = workflow("failing", async (ctx) => {
      await ctx.loop({ name: "l", run: (c) => c.step("s", () => Promise.reject(new Error("no")), { retry: false }) });
    });
    const wrong = workflow("wrong", async (ctx) => {
      await ctx.loop({ name: "l", state: 1, run: (async () => undefined) as never });
    });
    const options = workflow("options", async (ctx) => {
      await ctx.loop({ name: "l", commitInterval: 0, run: async () => Loop.break() });
    });
    const engine = await cluster.engine({ workflows: [failing, wrong, options] });
    const failures = [];
    for (const each of [failing, wrong, options]) {
      const run = await engine.start(each, undefined);
      failures.push(
        await cluster.finish(run).then(
          () => "no error",
          (error: Error) => (error.cause as Error).message,
        ),
      );
    }
    expect(failures).toEqual([
      "no",
      "an iteration of loop l must return Loop.continue(state) or Loop.break(value)",
      "commitInterval must be a positive integer; got 0",
    ]);
  });

  it("a checkpoint stays in effect when its iteration is removed from the journal", async () => {
    const cluster = await create(onTestFinished);
    const undone: string[] = [];
    const trip = workflow("trip", async (ctx) => {
      await ctx.step("paid", () => "paid", { rollback: (what) => void undone.push(what) });
      await ctx.loop({
        name: "ship",
        state: 0,
        commitInterval: 2,
        historyKeep: 0,
        run: async (c, n) => {
          if (n <= 1) await c.rollbackCheckpoint(`shipped ${n}`);
          await c.step("s", () => n);
          return n < 8 ? Loop.continue(n + 1) : Loop.break(n);
        },
      });
      await ctx.listen("go");
      throw new Error("late");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined, { id: "r" });
    await cluster.world.settle();
    expect((await run.journal()).map(({ location }) => location)).toEqual(["paid", "ship/~1/shipped 1", "ship"]);
    const heir = await cluster.takeOver(engine, { workflows: [trip] });
    await heir.run("r").send("go", 1);
    await expect(cluster.finish(heir.run("r"))).rejects.toMatchObject({ cause: { message: "late" } });
    expect(undone).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["a function", () => 1],
    ["a text above payloadBytesMax", "x".repeat(3_000_000)],
  ])("a loop rejects a state and a result that cannot be stored, and the process continues: %s", async (_, value) => {
    const cluster = await create(onTestFinished);
    const looping = workflow("looping", async (ctx) => {
      const codes: unknown[] = [];
      const note = (error: PawlError): void => void codes.push(error.code);
      await ctx
        .loop({ name: "state", state: 0 as unknown, commitInterval: 1, run: async () => Loop.continue(value) })
        .catch(note);
      await ctx.loop({ name: "result", run: async () => Loop.break(value) }).catch(note);
      await ctx.listen("go");
      return codes;
    });
    const engine = await cluster.engine({ workflows: [looping], hotRuns: 0 });
    const run = await engine.start(looping, undefined);
    await cluster.world.settle();
    await run.send("go", 1);
    const code = typeof value === "string" ? "PAYLOAD_TOO_LARGE" : "PAYLOAD_UNSUPPORTED";
    expect(await cluster.result(run)).toEqual([code, code]);
  });
});
