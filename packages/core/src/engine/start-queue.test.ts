import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import type { Store } from "../store/store.ts";
import { type Intercept, intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** A store with `busyMax` 4: four active runs keep it busy. */
const narrow = (store: Store): Store => narrowBy(4, store);
const narrowBy = (busyMax: number, store: Store, intercept: Intercept = (_, proceed) => proceed()): Store => ({
  ...intercepted(store, intercept),
  busyMax,
});

const RUNS = 20;

describe.each(TEST_STORES)("start queue, on the store $name", ({ create }) => {
  /** Starts runs with `steps` steps each. `seen` receives their starts, steps and ends in order. */
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

  it("queued runs start in FIFO order, and the first end before the last start", async () => {
    const { cluster, seen, start, count } = await burst(5);
    const runs = await start(0);
    expect(count("begin")).toBeLessThan(RUNS);
    await cluster.world.settle();
    expect(seen.filter((line) => line.startsWith("begin"))).toEqual(runs.map((_, n) => `begin ${n}`));
    expect(seen.indexOf("end 0")).toBeLessThan(seen.indexOf(`begin ${RUNS - 1}`));
    for (const run of runs) expect(await run.status()).toBe("completed");
    expect(count("work")).toBe(5 * RUNS);
  });

  it("long runs do not block the queued runs behind them", async () => {
    const { cluster, seen, start } = await burst(300);
    await start(0);
    await cluster.world.settle();
    expect(seen.indexOf(`begin ${RUNS - 1}`)).toBeLessThan(seen.indexOf("end 0"));
  });

  it("all queued runs start if step bodies take long", async () => {
    const cluster = await create(onTestFinished);
    let started = 0;
    const slow = workflow("slow", async (ctx) => {
      await ctx.step("quick", () => undefined);
      await ctx.step("slow", () => {
        started += 1;
        return new Promise(() => undefined);
      });
    });
    const engine = await cluster.engine({ workflows: [slow], through: narrow });
    await Promise.all(Array.from({ length: RUNS }, () => engine.start(slow, undefined)));
    await cluster.world.settle();
    expect(started).toBe(RUNS);
  });

  it("result() of a queued run needs no read of the store", async () => {
    let reads = 0;
    const { cluster, start } = await burst(2, (store) =>
      narrowBy(4, store, ({ method }, proceed) => {
        if (method === "read") reads += 1;
        return proceed();
      }),
    );
    const readsToOpen = reads;
    const results = Promise.all((await start(0)).map((run) => run.result()));
    await cluster.world.settle();
    expect([(await results).length, reads]).toEqual([RUNS, readsToOpen]);
  });

  it("a heartbeat that lists queued runs as owned does not load them", async () => {
    let loads = 0;
    let heartbeats = 0;
    let commits: Promise<void> | null = null;
    let proceedWithCommits = (): void => undefined;
    const { cluster, start, count } = await burst(2, (store) =>
      narrowBy(4, store, async ({ method }, proceed) => {
        if (method === "load") loads += 1;
        if (method === "heartbeat") heartbeats += 1;
        if (method === "commit") await commits;
        return proceed();
      }),
    );
    await start(0);
    commits = new Promise((resolve) => {
      proceedWithCommits = resolve;
    });
    heartbeats = 0;
    await cluster.world.advance("10 s");
    const started = count("begin");
    proceedWithCommits();
    await cluster.world.settle();
    expect(heartbeats).toBeGreaterThan(0);
    expect(started).toBeLessThan(RUNS);
    expect([count("end"), loads]).toEqual([RUNS, 0]);
  });

  it("a queued run that is cancelled does not start", async () => {
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

  it("a queued run receives messages sent before its start", async () => {
    const cluster = await create(onTestFinished);
    const greeted = workflow("greeted", async (ctx) => (await ctx.listen("hello")).value);
    const engine = await cluster.engine({ workflows: [greeted], through: narrow });
    const runs = await Promise.all(Array.from({ length: RUNS }, () => engine.start(greeted, undefined)));
    await Promise.all(runs.map((run, n) => run.send("hello", n)));
    expect(await Promise.all(runs.map((run) => cluster.result(run)))).toEqual(runs.map((_, n) => n));
  });

  it("shutdown executes all queued runs within drainMs", async () => {
    const { cluster, start, count, engine } = await burst(1, (store) => narrowBy(1, store));
    await start(0);
    const stopped = engine.shutdown();
    await cluster.world.settle();
    await stopped;
    expect(count("end")).toBe(RUNS);
  });

  it("no queued run starts after engine.broken", async () => {
    let isBroken = false;
    const { cluster, start, count, engine } = await burst(2, (store) =>
      narrowBy(4, store, async ({ method }, proceed) => {
        const answer = await proceed();
        return isBroken && method === "commit" ? ({ answers: [], wakes: [] } as typeof answer) : answer;
      }),
    );
    let started = 0;
    engine.on("engine.broken", () => {
      started = count("begin");
    });
    await start(0);
    isBroken = true;
    await cluster.world.settle();
    await cluster.world.advance("1 min");
    expect(started).toBeGreaterThan(0);
    expect(count("begin")).toBe(started);
  });

  it("another worker executes queued runs once after a shutdown without drain", async () => {
    const { cluster, start, count, engine, work } = await burst(2);
    await start(0);
    const started = count("begin");
    expect(started).toBeLessThan(RUNS);
    const stopped = engine.shutdown({ drainMs: 0 });
    await cluster.world.advance("1 s");
    await stopped;
    expect(count("begin")).toBeLessThan(RUNS);
    await cluster.engine({ workflows: [work] });
    await cluster.world.advance("10 s");
    expect([count("end"), count("work")]).toEqual([RUNS, 2 * RUNS]);
  });
});
