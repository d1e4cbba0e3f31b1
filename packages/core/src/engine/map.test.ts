import { describe, expect, it, onTestFinished } from "vitest";
import { JoinError, type PawlError, RollbackError, workflow } from "../index.ts";
import { crashEverywhere } from "../testing/crash-everywhere.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("map, on the store $name", ({ create }) => {
  it("a map returns the values in the order of the items, and processes at most concurrency items at a time", async () => {
    const cluster = await create(onTestFinished);
    let open = 0;
    let openMax = 0;
    const double = async (item: number, ms: number): Promise<number> => {
      const { clock } = cluster.world;
      open += 1;
      openMax = Math.max(openMax, open);
      await new Promise<void>((resolve) => clock.wakeAt(clock.now() + ms, resolve));
      open -= 1;
      return item * 2;
    };
    const doubled = workflow("doubled", async (ctx, items: readonly number[]) =>
      ctx.map(
        "items",
        items,
        (c, item, index) => c.step("double", () => double(item, (items.length - index) * 1_000)),
        { concurrency: 2 },
      ),
    );
    const engine = await cluster.engine({ workflows: [doubled] });
    const run = await engine.start(doubled, [5, 6, 7, 8]);
    expect(await cluster.finish(run)).toEqual([10, 12, 14, 16]);
    expect(openMax).toBe(2);
    const steps = (await run.journal()).filter(({ kind }) => kind === "step");
    expect(steps.map(({ location }) => location).sort()).toEqual([0, 1, 2, 3].map((index) => `items/${index}/double`));
  });

  it("a map without items returns an empty list", async () => {
    const cluster = await create(onTestFinished);
    const none = workflow("none", async (ctx) => ctx.map("none", [], (c) => c.sleep(1)));
    const engine = await cluster.engine({ workflows: [none] });
    expect(await cluster.result(await engine.start(none))).toEqual([]);
  });

  it("a map processes every item, and rejects with the error of each failed item by its index", async () => {
    const cluster = await create(onTestFinished);
    const ran: number[] = [];
    const failing = workflow("failing", async (ctx) => {
      const body = (item: number): number => {
        ran.push(item);
        if (item % 2 === 0) throw new Error(`no ${item}`);
        return item;
      };
      const work = ctx.map("work", [2, 3, 4], (c, item) => c.step("s", () => body(item), { retry: false }), {
        concurrency: 1,
      });
      const error: unknown = await work.catch((thrown: unknown) => thrown);
      if (!(error instanceof JoinError)) throw error;
      return Object.entries(error.errors).map(([index, { message }]) => `${index}: ${message}`);
    });
    const engine = await cluster.engine({ workflows: [failing] });
    expect(await cluster.result(await engine.start(failing))).toEqual(["0: no 2", "2: no 4"]);
    expect(ran).toEqual([2, 3, 4]);
  });

  it("a map with failures return resolves with values and failures, but rejects with a RollbackError", async () => {
    const cluster = await create(onTestFinished);
    const mixed = workflow("mixed", async (ctx, error: "step" | "rollback") => {
      const results = await ctx.map(
        "work",
        ["fine", error],
        async (c, item) => {
          if (item === "rollback") throw new RollbackError("undo");
          return await c.step("s", () => (item === "fine" ? 1 : Promise.reject(new Error("no"))), { retry: false });
        },
        { failures: "return" },
      );
      return results.map((each) => (each.ok ? each.value : `${each.failure.source} ${each.failure.scope}`));
    });
    const engine = await cluster.engine({ workflows: [mixed] });
    expect(await cluster.result(await engine.start(mixed, "step"))).toEqual([1, "step work/1"]);
    expect(await cluster.failure(await engine.start(mixed, "rollback"))).toMatchObject({
      cause: { name: "RollbackError", message: "undo" },
    });
  });

  it("a map survives a crash at each commit", async () => {
    const make = () => {
      const ran: string[] = [];
      const mapped = workflow("mapped", async (ctx) =>
        ctx.map(
          "items",
          ["a", "b", "c", "d"],
          async (c, item) => {
            await c.sleep("1 s");
            return await c.step("s", () => ran.push(item) && item);
          },
          { concurrency: 3 },
        ),
      );
      return { workflow: mapped, ran };
    };
    const crashes = await crashEverywhere(
      () => create(onTestFinished),
      make,
      ({ output }) => expect(output).toEqual(["a", "b", "c", "d"]),
    );
    expect(crashes).toBeGreaterThan(5);
  });

  it("another number of items is a divergence that names both numbers", async () => {
    const cluster = await create(onTestFinished);
    const code = (items: readonly number[]) =>
      workflow("changing", async (ctx) => ctx.map("items", items, (c) => c.listen("go")));
    const first = await cluster.engine({ workflows: [code([1, 2])] });
    const run = await first.start(code([1, 2]));
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [code([1])] });
    await second.send(run.id, "go", 1);
    await cluster.world.advance("5 s");
    const { status, error } = (await second.get(run.id))!;
    expect(status).toBe("paused");
    expect(error).toMatchObject({ code: "HISTORY_DIVERGED" });
    expect(error?.message).toContain("2 items");
    expect(error?.message).toContain("1 item ");
  });

  it("retry continues a run that failed in a map at the failed items only", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    let isDown = true;
    const mapped = workflow("mapped", async (ctx) =>
      ctx.map(
        "items",
        ["a", "b", "c"],
        (c, item) =>
          c.step(
            "s",
            () => {
              ran.push(item);
              if (item === "b" && isDown) throw new Error("b is down");
              return item;
            },
            { retry: false },
          ),
        { concurrency: 1 },
      ),
    );
    const engine = await cluster.engine({ workflows: [mapped] });
    const run = await engine.start(mapped);
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "JOIN_FAILED" } });
    isDown = false;
    await run.retry();
    expect(await cluster.result(run)).toEqual(["a", "b", "c"]);
    expect(ran.filter((item) => item === "a")).toHaveLength(1);
  });

  it("invalid items, functions and options of a map are rejected with OPTION_INVALID", async () => {
    const cluster = await create(onTestFinished);
    const wrong = workflow("wrong", async (ctx) => {
      const texts: string[] = [];
      const call = async (items: unknown, run: unknown, options: unknown): Promise<void> => {
        const given = [items as number[], run as () => number, options as object] as const;
        await ctx.map("m", ...given).catch((error: PawlError) => texts.push(`${error.code} ${error.message}`));
      };
      await call("abc", () => 1, {});
      await call([1], 1, {});
      await call([1], () => 1, { concurrency: 0 });
      await call([1], () => 1, { limit: 2 });
      return texts;
    });
    const engine = await cluster.engine({ workflows: [wrong] });
    const [items, run, concurrency, unknown] = await cluster.result(await engine.start(wrong));
    expect(items).toContain('OPTION_INVALID items of map m must be a list of at most 100000 items; got "abc"');
    expect(run).toContain("OPTION_INVALID function of map m must be a function; got 1");
    expect(concurrency).toContain("OPTION_INVALID concurrency must be Infinity or a positive integer; got 0");
    expect(unknown).toContain('OPTION_INVALID unknown option "limit" of map; use concurrency, failures');
  });
});
