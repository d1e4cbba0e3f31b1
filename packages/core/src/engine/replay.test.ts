import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, workflow } from "../index.ts";
import { crashEverywhere } from "../testing/crash-everywhere.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("replay, on the store $name", ({ create, staysHot }) => {
  it("replay of Promise.all over steps and sleeps returns the same results, whichever commit the process crashes at", async () => {
    const make = () => {
      const ran: string[] = [];
      const body = (name: string) => (): string => {
        ran.push(name);
        return name;
      };
      const all = workflow("all", async (ctx) => {
        const parts = await Promise.all([
          ctx.step("a", body("a")),
          (async () => {
            await ctx.sleep("2 s");
            return await ctx.step("b", body("b"));
          })(),
          ctx.step("c", body("c")),
        ]);
        return [...parts, await ctx.step("d", body("d"))];
      });
      return { workflow: all, ran };
    };
    const crashes = await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output, ran, journal }) => {
        expect(output).toEqual(["a", "b", "c", "d"]);
        for (const name of ["a", "b", "c", "d"]) {
          expect(ran.filter((each) => each === name).length).toBeLessThanOrEqual(2);
        }
        expect([...journal].sort()).toEqual(["a", "b", "c", "d", "sleep"]);
      },
    );
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  it("replay of Promise.race returns the same winner", async () => {
    const make = () => {
      const ran: string[] = [];
      const race = workflow("race", async (ctx) => {
        const winner = await Promise.race([
          ctx.sleep("3 s").then(() => "timer"),
          ctx.listen("m").then(() => "message"),
          ctx.sleep("2 s", { name: "short" }).then(() => "short"),
        ]);
        await ctx.step("note", () => void ran.push(winner));
        await ctx.sleep("5 s", { name: "after" });
        return winner;
      });
      return { workflow: race, ran };
    };
    await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output, ran }) => {
        expect(output).toBe("short");
        expect(new Set(ran)).toEqual(new Set(["short"]));
      },
    );
  });

  it("replay of Promise.allSettled returns the same values and failures", async () => {
    const make = () => {
      const ran: string[] = [];
      const settled = workflow("settled", async (ctx) => {
        const all = await Promise.allSettled([
          ctx.step("good", () => 1),
          ctx.step(
            "bad",
            () => {
              throw new TypeError("bad");
            },
            { retry: false },
          ),
          ctx.listen("never", { timeout: "1 s" }),
        ]);
        await ctx.sleep("1 s");
        return all.map((each) =>
          each.status === "fulfilled"
            ? each.value
            : `${(each.reason as Error).name}: ${(each.reason as Error).message}`,
        );
      });
      return { workflow: settled, ran };
    };
    await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output }) => {
        expect(output).toEqual([1, "TypeError: bad", { timedOut: true }]);
      },
    );
  });

  it("replay of three concurrent workers over ten items executes each item once", async () => {
    const make = () => {
      const ran: string[] = [];
      const pool = workflow("pool", async (ctx) => {
        const items = Array.from({ length: 10 }, (_, n) => n);
        const order: string[] = [];
        const work = async (worker: number): Promise<void> => {
          for (let item = items.shift(); item !== undefined; item = items.shift()) {
            const done = await ctx.step(`item ${item}`, () => {
              ran.push(`${item}`);
              return item;
            });
            if (done % 3 === 0) await ctx.sleep("1 s");
            order.push(`${worker}:${done}`);
          }
        };
        await Promise.all([work(1), work(2), work(3)]);
        return order;
      });
      return { workflow: pool, ran };
    };
    const outputs = new Set<string>();
    await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output, journal }) => {
        outputs.add(JSON.stringify([...(output as string[])].map((each) => each.split(":")[1]).sort()));
        expect(new Set(journal).size).toBe(journal.length);
      },
    );
    expect(outputs.size).toBe(1);
  });

  it("messages are received exactly once, whichever commit the process crashes at", async () => {
    const make = () => {
      const ran: string[] = [];
      const mixed = workflow("mixed", async (ctx) => {
        const got: unknown[] = [];
        const listener = (async () => {
          for (let i = 0; i < 3; i += 1) got.push((await ctx.listen("m")).value);
        })();
        await ctx.step("a", () => void ran.push("a"));
        await ctx.sleep("2 s");
        await ctx.step("b", () => void ran.push("b"));
        await listener;
        return got;
      });
      return { workflow: mixed, ran };
    };
    await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output }) => expect(output).toEqual([1, 2, 3]),
      async (cluster, runId) => {
        const sender = await cluster.engine();
        for (const n of [1, 2, 3]) {
          await sender.send(runId, "m", n, { id: `m${n}` });
          await cluster.world.settle();
        }
      },
    );
  });

  it("replay returns the same time, random numbers and uuids, and logs nothing twice", async () => {
    const cluster = await create(onTestFinished);
    const seen: unknown[][] = [];
    const drawn = workflow("drawn", async (ctx) => {
      ctx.log("began", { n: 1 });
      const values = [ctx.now(), ctx.random(), ctx.random(), ctx.uuid(), ctx.uuid()];
      await ctx.step("a", () => 1);
      values.push(ctx.now(), ctx.random(), ctx.uuid());
      ctx.log("in the middle");
      seen.push(values);
      await ctx.sleep("1 minute");
      ctx.log("ended");
      return values;
    });
    const first = await cluster.engine({ workflows: [drawn] });
    const run = await first.start(drawn, undefined);
    await cluster.world.advance("10 s");
    const second = await cluster.takeOver(first, { workflows: [drawn] });
    await cluster.world.advance("1 minute");
    const output = await cluster.result(second.run<unknown[]>(run.id));
    expect(seen).toHaveLength(2);
    expect(seen[1]).toEqual(seen[0]);
    expect(output).toEqual(seen[0]);
    expect(new Set(output).size).toBe(output.length - 1);
    for (const id of output.filter((value) => typeof value === "string")) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    const lines = cluster.log.filter(({ level, fields }) => level === "info" && fields.run === run.id);
    expect(lines.map(({ text }) => text)).toEqual(["began", "in the middle", "ended"]);
    expect(lines[0]).toMatchObject({ level: "info", fields: { run: run.id, n: 1 } });
  });

  it("each run and each generation has different random numbers", async () => {
    const cluster = await create(onTestFinished);
    const draws = workflow("draws", async (ctx, got: number[]): Promise<unknown> => {
      const next = [...got, ctx.random()];
      return next.length === 3 ? next : await ctx.continueAs(next);
    });
    const engine = await cluster.engine({ workflows: [draws] });
    const all = await Promise.all([engine.start(draws, []), engine.start(draws, [])]);
    const outputs = (await Promise.all(all.map((run) => cluster.result(run)))) as number[][];
    expect(new Set(outputs.flat()).size).toBe(6);
  });

  it("replay returns the same values as the first execution", async () => {
    const cluster = await create(onTestFinished);
    const value = {
      date: new Date(0),
      map: new Map<unknown, unknown>([["a", new Set([1n])]]),
      bytes: new Uint8Array([1, 2]),
      nan: Number.NaN,
      zero: -0,
      undef: undefined,
      big: 2n ** 70n,
      error: new TypeError("inside", { cause: new Error("deeper") }),
      proto: JSON.parse('{"__proto__": 1}') as unknown,
    };
    const seen: Array<typeof value> = [];
    const keeper = workflow("keeper", async (ctx) => {
      const kept = await ctx.step("make", () => value);
      seen.push(kept);
      await ctx.listen("go");
    });
    const first = await cluster.engine({ workflows: [keeper] });
    const run = await first.start(keeper, undefined);
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [keeper] });
    await second.send(run.id, "go", null);
    await cluster.result(second.run(run.id));
    expect(seen).toHaveLength(2);
    for (const kept of seen) {
      expect(kept).not.toBe(value);
      expect(kept.date).toEqual(value.date);
      expect(kept.map.get("a")).toEqual(new Set([1n]));
      expect(kept.bytes).toEqual(value.bytes);
      expect(Object.is(kept.nan, Number.NaN) && Object.is(kept.zero, -0)).toBe(true);
      expect("undef" in kept).toBe(true);
      expect(kept.big).toBe(value.big);
      expect(kept.error).toBeInstanceOf(TypeError);
      expect(kept.error.cause).toMatchObject({ message: "deeper" });
      expect(Object.keys(kept.proto as object)).toEqual(["__proto__"]);
    }
    expect(seen[1]).toEqual(seen[0]);
  });

  it.runIf(staysHot)("a hot run resumes without replay", async () => {
    const cluster = await create(onTestFinished);
    let passes = 0;
    const long = workflow("long", async (ctx: Ctx) => {
      passes += 1;
      for (let i = 0; i < 50; i += 1) await ctx.step("work", () => i);
      for (let i = 0; i < 5; i += 1) await ctx.listen("go");
      return passes;
    });
    const engine = await cluster.engine({ workflows: [long] });
    const run = await engine.start(long, undefined);
    for (let i = 0; i < 5; i += 1) {
      await cluster.world.settle();
      await run.send("go", i);
    }
    expect(await cluster.result(run)).toBe(1);
  });

  it("a run evicted because of hotRuns is replayed with the same result", async () => {
    const cluster = await create(onTestFinished);
    const passes = new Map<string, number>();
    const waits = workflow("waits", async (ctx, n: number) => {
      passes.set(ctx.runId, (passes.get(ctx.runId) ?? 0) + 1);
      const doubled = await ctx.step("double", () => n * 2);
      await ctx.listen("go");
      return doubled;
    });
    const engine = await cluster.engine({ workflows: [waits], hotRuns: 2 });
    const runs = [];
    for (let n = 0; n < 6; n += 1) {
      runs.push(await engine.start(waits, n));
      await cluster.world.settle();
    }
    for (const run of runs) await run.send("go", null);
    expect(await Promise.all(runs.map((run) => cluster.finish(run)))).toEqual([0, 2, 4, 6, 8, 10]);
    expect([...passes.values()]).toEqual([2, 2, 2, 2, 1, 1]);
  });

  it.runIf(staysHot)("runs evicted because of hotBytes are replayed", async () => {
    const cluster = await create(onTestFinished);
    let passes = 0;
    const heavy = workflow("heavy", async (ctx) => {
      passes += 1;
      const text = await ctx.step("big", () => "x".repeat(10_000));
      await ctx.listen("go");
      return text.length;
    });
    const engine = await cluster.engine({ workflows: [heavy], hotBytes: 25_000 });
    const runs = await Promise.all([1, 2, 3, 4].map(() => engine.start(heavy, undefined)));
    await cluster.world.settle();
    for (const run of runs) await run.send("go", null);
    expect(await Promise.all(runs.map((run) => cluster.finish(run)))).toEqual([10_000, 10_000, 10_000, 10_000]);
    expect(passes).toBe(6);
  });

  it("sleeping runs evicted because of hotRuns end at their time", async () => {
    const cluster = await create(onTestFinished);
    const naps = workflow("naps", async (ctx, n: number) => {
      await ctx.sleep(`${n + 1} s`);
      return n;
    });
    const engine = await cluster.engine({ workflows: [naps], hotRuns: 1 });
    const runs = await Promise.all([0, 1, 2, 3].map((n) => engine.start(naps, n)));
    await cluster.world.advance("10 s");
    expect(await Promise.all(runs.map((run) => cluster.result(run)))).toEqual([0, 1, 2, 3]);
  });
});
