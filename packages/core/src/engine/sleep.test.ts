import { describe, expect, it, onTestFinished } from "vitest";
import { type PawlError, workflow } from "../index.ts";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { intercepted } from "../testing/intercepted.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

describe.each(TEST_STORES)("sleeping, on the store $name", ({ create }) => {
  it("a sleep ends at its time, not a millisecond before", async () => {
    const cluster = await create(onTestFinished);
    const nap = workflow("nap", async (ctx) => {
      const before = ctx.now();
      await ctx.sleep("90 s");
      return ctx.now() - before;
    });
    const engine = await cluster.engine({ workflows: [nap] });
    const run = await engine.start(nap, undefined);
    await cluster.world.settle();
    await cluster.world.advance(90_000 - 1);
    expect(await run.status()).toBe("suspended");
    await cluster.world.advance(1);
    expect(await cluster.result(run)).toBe(90_000);
  });

  it("a sleep of 0 or until a past time ends at once", async () => {
    const cluster = await create(onTestFinished);
    const nap = workflow("nap", async (ctx) => {
      const before = ctx.now();
      await ctx.sleep(0);
      await ctx.sleepUntil(before - MINUTE_MS);
      await ctx.sleepUntil(new Date(0));
      return ctx.now() - before;
    });
    const engine = await cluster.engine({ workflows: [nap] });
    expect(await cluster.result(await engine.start(nap, undefined))).toBe(0);
  });

  it("sleepUntil accepts a Date and epoch ms", async () => {
    const cluster = await create(onTestFinished);
    const start = cluster.world.now();
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleepUntil(new Date(start + MINUTE_MS));
      const first = ctx.now() - start;
      await ctx.sleepUntil(start + 2 * MINUTE_MS, { name: "again" });
      return [first, ctx.now() - start];
    });
    const engine = await cluster.engine({ workflows: [nap] });
    const run = await engine.start(nap, undefined);
    await cluster.world.advance("2 minutes");
    expect(await cluster.result(run)).toEqual([MINUTE_MS, 2 * MINUTE_MS]);
    expect((await run.journal()).map((record) => record.location)).toEqual(["sleep", "again"]);
  });

  it.each([
    ["25 days", 25],
    ["49.7 days (more than 2^32 ms)", 49.72],
    ["10 years", 3_650],
  ])("a sleep of %s ends at its time", async (_, days) => {
    const cluster = await create(onTestFinished);
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleep(`${days} days`);
      return "awake";
    });
    const engine = await cluster.engine({ workflows: [nap], poll: "5 days", lease: "20 days" });
    const run = await engine.start(nap, undefined);
    await cluster.world.settle();
    await cluster.world.advance(days * DAY_MS - 1);
    expect(await run.status()).toBe("suspended");
    await cluster.world.advance(1);
    expect(await cluster.result(run)).toBe("awake");
  });

  it("a sleep keeps its end time after a crash", async () => {
    const cluster = await create(onTestFinished);
    const start = cluster.world.now();
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleep("1 minute");
      return ctx.now();
    });
    const first = await cluster.engine({ workflows: [nap] });
    const run = await first.start(nap, undefined);
    await cluster.world.advance("50 s");
    const second = await cluster.takeOver(first, { workflows: [nap] });
    await cluster.world.advance("4 s");
    expect(await cluster.result(second.run(run.id))).toBe(start + 60_000);
  });

  it("a sleep that is due while no worker runs ends when a worker starts", async () => {
    const cluster = await create(onTestFinished);
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleep("1 minute");
      return "awake";
    });
    const first = await cluster.engine({ workflows: [nap] });
    const run = await first.start(nap, undefined);
    await cluster.world.settle();
    await first.shutdown();
    await cluster.world.advance("1 day");
    const second = await cluster.engine({ workflows: [nap] });
    expect(await cluster.result(second.run(run.id))).toBe("awake");
  });

  it("a clock that steps back does not end a sleep, and one that steps forward ends it soon", async () => {
    const cluster = await create(onTestFinished);
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleep("50 s");
      return "awake";
    });
    const engine = await cluster.engine({ workflows: [nap] });
    const back = await engine.start(nap, undefined);
    await cluster.world.settle();
    await cluster.world.leap(-MINUTE_MS);
    await cluster.world.advance("30 s");
    expect(await back.status()).toBe("suspended");
    await cluster.world.leap(2 * MINUTE_MS);
    await cluster.world.advance("5 s");
    expect(await cluster.result(back)).toBe("awake");
  });

  it("parallel sleeps end in the order of their times", async () => {
    const cluster = await create(onTestFinished);
    const naps = workflow("naps", async (ctx) => {
      const order: number[] = [];
      await Promise.all(
        [30, 10, 20].map(async (seconds) => {
          await ctx.sleep(`${seconds} s`);
          order.push(seconds);
        }),
      );
      return order;
    });
    const engine = await cluster.engine({ workflows: [naps] });
    const run = await engine.start(naps, undefined);
    await cluster.world.settle();
    const summary = await engine.get(run.id);
    expect(summary?.wait).toMatchObject({ until: cluster.world.now() + 10_000, openCount: 3 });
    await cluster.world.advance("31 s");
    expect(await cluster.result(run)).toEqual([10, 20, 30]);
  });

  it("sleep rejects an invalid duration or time, and the run continues", async () => {
    const cluster = await create(onTestFinished);
    const odd = workflow("odd", async (ctx) => {
      const codes: string[] = [];
      const durations: unknown[] = [Number.NaN, -1, Number.POSITIVE_INFINITY, "1 fortnight", "", null, {}, 2 ** 53];
      for (const duration of durations) {
        await ctx.sleep(duration as number).catch((error: PawlError) => codes.push(error.code));
      }
      for (const time of [Number.NaN, new Date(Number.NaN), "tomorrow"]) {
        await ctx.sleepUntil(time as number).catch((error: PawlError) => codes.push(error.code));
      }
      return codes;
    });
    const engine = await cluster.engine({ workflows: [odd] });
    const run = await engine.start(odd, undefined);
    expect(await cluster.result(run)).toEqual(Array.from({ length: 11 }, () => "DURATION_INVALID"));
  });

  it("user code sees a suspension neither in catch nor in finally", async () => {
    const cluster = await create(onTestFinished);
    const seen: string[] = [];
    const wary = workflow("wary", async (ctx) => {
      try {
        await ctx.sleep("1 minute");
        seen.push("after");
      } catch {
        seen.push("catch");
      } finally {
        seen.push("finally");
      }
    });
    const engine = await cluster.engine({ workflows: [wary] });
    const run = await engine.start(wary, undefined);
    await cluster.world.advance("30 s");
    const second = await cluster.takeOver(engine, { workflows: [wary] });
    expect(seen).toEqual([]);
    await cluster.world.advance("1 minute");
    await cluster.result(second.run(run.id));
    expect(seen).toEqual(["after", "finally"]);
  });

  /** A store with a remote clock: its estimated time is 3 s ahead. `calls` receives the names of the called methods. */
  const ahead =
    (calls: string[], more: (store: Store) => Partial<Store> = () => ({})) =>
    (store: Store): Store => ({
      ...intercepted(store, (call, proceed) => {
        calls.push(call.method);
        return proceed();
      }),
      exactClock: false,
      now: () => store.now() + 3_000,
      ...more(store),
    });

  const nap = workflow("nap", async (ctx) => {
    await ctx.sleep("10 s");
    return "awake";
  });

  const endsAfter = async (cluster: TestCluster, run: { status(): Promise<unknown> }): Promise<number> => {
    const start = cluster.world.now();
    for (let second = 0; second < 20; second += 1) {
      await cluster.world.advance("1 s");
      if ((await run.status()) === "completed") return cluster.world.now() - start;
    }
    throw new Error("it sleeps on");
  };

  it("a worker whose estimate of the store's time is ahead does not end a sleep early", async () => {
    const cluster = await create(onTestFinished);
    await cluster.engine({ workflows: [nap], through: ahead([]) });
    const client = await cluster.engine();
    const ended = await endsAfter(cluster, await client.start(nap, undefined));
    expect(ended).toBeGreaterThanOrEqual(10_000);
    expect(ended).toBeLessThanOrEqual(11_000);
  });

  it("a worker whose estimate is ahead does not end a sleep early if the store has readClock", async () => {
    const cluster = await create(onTestFinished);
    const through = ahead([], (store) => ({ readClock: async () => store.now() }));
    await cluster.engine({ workflows: [nap], through });
    const client = await cluster.engine();
    const ended = await endsAfter(cluster, await client.start(nap, undefined));
    expect(ended).toBeGreaterThanOrEqual(10_000);
    expect(ended).toBeLessThanOrEqual(11_000);
  });

  it("runs that sleep until the same time share one readClock call and need no separate commit", async () => {
    const cluster = await create(onTestFinished);
    const calls: string[] = [];
    let queries = 0;
    const readClock = (store: Store) => async () => {
      queries += 1;
      return store.now();
    };
    const through = ahead(calls, (store) => ({ now: () => store.now(), readClock: readClock(store) }));
    const engine = await cluster.engine({ workflows: [nap], through });
    const runs = await Promise.all(Array.from({ length: 5 }, () => engine.start(nap, undefined)));
    await cluster.world.advance("9 s");
    calls.length = 0;
    await cluster.world.advance("2 s");
    for (const run of runs) expect(await run.result()).toBe("awake");
    expect(calls.filter((method) => method === "commit")).toHaveLength(1);
    expect(queries).toBe(1);
  });

  it("a sleep ends even if readClock fails or never replies", async () => {
    const cluster = await create(onTestFinished);
    const silent: Partial<Store> = { readClock: () => new Promise(() => undefined) };
    const failing: Partial<Store> = {
      readClock: async () => {
        throw new StoreError("STORE_UNAVAILABLE", "notApplied", "made to fail");
      },
    };
    const odd: Partial<Store> = {
      readClock: async () => {
        throw new Error("an error of unknown kind");
      },
    };
    for (const broken of [silent, failing, odd]) {
      const through = ahead([], (store) => ({ ...broken, now: () => store.now() }));
      const engine = await cluster.engine({ workflows: [nap], through });
      expect(await endsAfter(cluster, await engine.start(nap, undefined))).toBeLessThanOrEqual(12_000);
      await engine.shutdown();
    }
  });
});
