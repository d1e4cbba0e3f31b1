import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import type { Store } from "../store/store.ts";
import { type Intercept, intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** A store that four runs keep busy. */
const narrow = (store: Store): Store => narrowBy(4, store);
const narrowBy = (busyMax: number, store: Store, intercept: Intercept = (_, proceed) => proceed()): Store => ({
  ...intercepted(store, intercept),
  busyMax,
});

const RUNS = 20;

describe.each(TEST_STORES)("many runs that are started at once, on the store $name", ({ create }) => {
  /** Runs of so many steps, and what became of them in the order in which it did. */
  const burst = async (steps: number, through = narrow) => {
    const cluster = await create(onTestFinished);
    const seen: string[] = [];
    const work = workflow("work", async (ctx, n: number) => {
      seen.push(`begin ${n}`);
      for (let step = 0; step < steps; step += 1) await ctx.step("work", () => seen.push(`work ${n}`));
      seen.push(`end ${n}`);
    });
    const engine = await cluster.engine({ workflows: [work], through });
    const start = (from: number, count = RUNS) =>
      Promise.all(Array.from({ length: count }, (_, k) => engine.start(work, from + k, { id: `run-${from + k}` })));
    const count = (what: string) => seen.filter((line) => line.startsWith(what)).length;
    return { cluster, seen, work, engine, start, count };
  };

  it("begin in the order in which they were started, and the first end before the last begin", async () => {
    const { cluster, seen, start, count } = await burst(5);
    const runs = await start(0);
    expect(count("begin")).toBeLessThan(RUNS);
    await cluster.world.settle();
    expect(seen.filter((line) => line.startsWith("begin"))).toEqual(runs.map((_, n) => `begin ${n}`));
    expect(seen.indexOf("end 0")).toBeLessThan(seen.indexOf(`begin ${RUNS - 1}`));
    for (const run of runs) expect(await run.status()).toBe("completed");
    expect(count("work")).toBe(5 * RUNS);
  });

  it("begin even when those before them never come to an end", async () => {
    const { cluster, seen, start } = await burst(300);
    await start(0);
    await cluster.world.settle();
    expect(seen.indexOf(`begin ${RUNS - 1}`)).toBeLessThan(seen.indexOf("end 0"));
  });

  it("begin all, when their bodies take long", async () => {
    const cluster = await create(onTestFinished);
    let begun = 0;
    const slow = workflow("slow", async (ctx) => {
      await ctx.step("quick", () => undefined);
      await ctx.step("slow", () => {
        begun += 1;
        return new Promise(() => undefined);
      });
    });
    const engine = await cluster.engine({ workflows: [slow], through: narrow });
    await Promise.all(Array.from({ length: RUNS }, () => engine.start(slow, undefined)));
    await cluster.world.settle();
    expect(begun).toBe(RUNS);
  });

  it("give their results to those who asked before they began", async () => {
    let reads = 0;
    const { cluster, start } = await burst(2, (store) =>
      narrowBy(4, store, ({ method }, proceed) => {
        if (method === "read") reads += 1;
        return proceed();
      }),
    );
    const results = Promise.all((await start(0)).map((run) => run.result()));
    await cluster.world.settle();
    expect([(await results).length, reads]).toEqual([RUNS, 0]);
  });

  it("are not read when their worker hears that it holds them", async () => {
    let loads = 0;
    let beats = 0;
    let commits: Promise<void> | null = null;
    let letGo = (): void => undefined;
    const { cluster, start, count } = await burst(2, (store) =>
      narrowBy(4, store, async ({ method }, proceed) => {
        if (method === "load") loads += 1;
        if (method === "heartbeat") beats += 1;
        if (method === "commit") await commits;
        return proceed();
      }),
    );
    await start(0);
    commits = new Promise((resolve) => {
      letGo = resolve;
    });
    beats = 0;
    await cluster.world.advance("10 s");
    const begun = count("begin");
    letGo();
    await cluster.world.settle();
    expect(beats).toBeGreaterThan(0);
    expect(begun).toBeLessThan(RUNS);
    expect([count("end"), loads]).toEqual([RUNS, 0]);
  });

  it("don't begin when they were cancelled before", async () => {
    const { cluster, seen, engine, start } = await burst(2);
    const runs = await start(0);
    expect(await engine.cancel(`run-${RUNS - 1}`)).toBe(true);
    await cluster.world.settle();
    expect(seen).not.toContain(`work ${RUNS - 1}`);
    expect(await Promise.all(runs.map((run) => run.status()))).toEqual([
      ...Array.from({ length: RUNS - 1 }, () => "completed"),
      "cancelled",
    ]);
  });

  it("get what is sent to them before they begin", async () => {
    const cluster = await create(onTestFinished);
    const greeted = workflow("greeted", async (ctx) => (await ctx.listen("hello")).value);
    const engine = await cluster.engine({ workflows: [greeted], through: narrow });
    const runs = await Promise.all(Array.from({ length: RUNS }, () => engine.start(greeted, undefined)));
    await Promise.all(runs.map((run, n) => run.send("hello", n)));
    expect(await Promise.all(runs.map((run) => cluster.result(run)))).toEqual(runs.map((_, n) => n));
  });

  it("are all done when the engine is shut down with time for it", async () => {
    const { cluster, start, count, engine } = await burst(1, (store) => narrowBy(1, store));
    await start(0);
    const stopped = engine.shutdown();
    await cluster.world.settle();
    await stopped;
    expect(count("end")).toBe(RUNS);
  });

  it("don't begin in an engine that has stopped before it could write a wrong state", async () => {
    let isBroken = false;
    const { cluster, start, count, engine } = await burst(2, (store) =>
      narrowBy(4, store, async ({ method }, proceed) => {
        const answer = await proceed();
        return isBroken && method === "commit" ? ({ answers: [], wakes: [] } as typeof answer) : answer;
      }),
    );
    let begun = 0;
    engine.on("engine.broken", () => {
      begun = count("begin");
    });
    await start(0);
    isBroken = true;
    await cluster.world.settle();
    await cluster.world.advance("1 min");
    expect(begun).toBeGreaterThan(0);
    expect(count("begin")).toBe(begun);
  });

  it("are done by others, once, when the engine is shut down before they begin", async () => {
    const { cluster, start, count, engine, work } = await burst(2);
    await start(0);
    const begun = count("begin");
    expect(begun).toBeLessThan(RUNS);
    const stopped = engine.shutdown({ drainMs: 0 });
    await cluster.world.advance("1 s");
    await stopped;
    expect(count("begin")).toBeLessThan(RUNS);
    await cluster.engine({ workflows: [work] });
    await cluster.world.advance("10 s");
    expect([count("end"), count("work")]).toEqual([RUNS, 2 * RUNS]);
  });
});
