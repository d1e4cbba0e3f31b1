import { describe, expect, it, onTestFinished } from "vitest";
import type { Pruned } from "../rules/tables.ts";
import type { Store } from "../store/store.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";
import type { PruneReport } from "./retention.ts";

const job = workflow("job", async (ctx, input: "completed" | "failed" | "cancelled" | "open") => {
  await ctx.step("begin", () => undefined);
  if (input === "failed") throw new Error("broken");
  if (input === "cancelled" || input === "open") await ctx.listen("go");
});

describe.each(TEST_STORES)("retention on $name", ({ create }) => {
  const open = () => create(onTestFinished);

  it("ended runs are removed after the retention of their status, and open runs are kept", async () => {
    const cluster = await open();
    const retention = { completed: "2 min", failed: "6 min", cancelled: "4 min" } as const;
    const engine = await cluster.engine({ workflows: [job], retention });
    for (const kind of ["completed", "failed", "cancelled", "open"] as const)
      await engine.start(job, kind, { id: kind });
    await cluster.world.settle();
    await engine.cancel("cancelled");
    const left = async () => (await engine.list()).items.map(({ id }) => id).sort();
    expect(await left()).toEqual(["cancelled", "completed", "failed", "open"]);
    await cluster.world.advance("200 s");
    expect(await left()).toEqual(["cancelled", "failed", "open"]);
    await cluster.world.advance("2 min");
    expect(await left()).toEqual(["failed", "open"]);
    await cluster.world.advance("2 min");
    expect(await left()).toEqual(["open"]);
    await cluster.world.advance("5 min");
    await engine.send("open", "go", null);
    await cluster.world.settle();
    expect(await engine.run("open").status()).toBe("completed");
  });

  it("without retention nothing is removed", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [job] });
    await engine.start(job, "completed", { id: "r" });
    await cluster.world.advance("10 min");
    expect((await engine.get("r"))?.status).toBe("completed");
    expect(await engine.prune()).toEqual({ runs: 0, deadLetters: 0, entries: 0, expired: 0 });
  });

  it("the next batch follows soon if one batch does not remove everything", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [job], retention: { completed: "1 minute" } });
    await Promise.all(Array.from({ length: 450 }, () => engine.start(job, "completed")));
    await cluster.world.advance("1 minute");
    const left = async () => (await engine.list({ limit: 1_000 })).items.length;
    expect(await left()).toBe(450);
    await cluster.world.advance("61 s");
    expect(await left()).toBe(0);
  });

  it("dead letters are removed after their retention", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [job], retention: { deadLetters: "2 min" } });
    const run = await engine.start(job, "open");
    await cluster.world.settle();
    await run.send("other", 1, { onTargetTerminated: "deadLetter" });
    await run.cancel();
    await cluster.world.advance("110 s");
    expect((await engine.deadLetters.list()).items).toHaveLength(1);
    await cluster.world.advance("80 s");
    expect((await engine.deadLetters.list()).items).toHaveLength(0);
  });

  it("prune removes everything in batches, reports each, and can be aborted between two", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [job] });
    await Promise.all(Array.from({ length: 25 }, () => engine.start(job, "completed")));
    await engine.start(job, "open", { id: "open" });
    await cluster.world.advance("1 s");
    const progress: PruneReport[] = [];
    const ending = new AbortController();
    const options = { retention: { completed: 0 }, batch: 10 } as const;
    const first = engine.prune({ ...options, signal: ending.signal, onProgress: () => ending.abort() });
    await cluster.world.settle();
    expect(await first).toMatchObject({ runs: 10 });
    const rest = engine.prune({ ...options, onProgress: (report) => progress.push(report) });
    await cluster.world.settle();
    expect(await rest).toEqual({ runs: 15, deadLetters: 0, entries: 0, expired: 0 });
    expect(progress.map(({ runs }) => runs)).toEqual([10, 15]);
    expect((await engine.list()).items.map(({ id }) => id)).toEqual(["open"]);
  });

  it("ended descendants of an open run are kept, because it may have to compensate them", async () => {
    const cluster = await open();
    const leaf = workflow("leaf", async () => "leaf");
    const middle = workflow("middle", async (ctx) => await ctx.child(leaf, undefined));
    const root = workflow("root", async (ctx) => {
      await ctx.child(middle, undefined);
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [root, middle, leaf], retention: { completed: "1 min" } });
    const run = await engine.start(root, undefined);
    await cluster.world.advance("200 s");
    expect((await engine.list()).items).toHaveLength(3);
    await run.send("go", null);
    await cluster.world.advance("200 s");
    expect((await engine.list()).items).toHaveLength(0);
  });
});

it("a lasting backlog is pruned by a single loop", async () => {
  const cluster = await (TEST_STORES[0] ?? expect.unreachable()).create(onTestFinished);
  let prunes = 0;
  const through = (store: Store): Store =>
    intercepted(store, async (call, proceed) => {
      const answer = await proceed();
      if (call.method !== "prune") return answer;
      prunes += 1;
      return { ...(answer as Pruned), done: false } as typeof answer;
    });
  await cluster.engine({ workflows: [job], through });
  await cluster.world.advance("5 min");
  expect(prunes).toBeGreaterThan(1_000);
  expect(prunes).toBeLessThanOrEqual(1 + (4 * 60_000) / 10);
});

it.each([
  ["half of the time in this process", {}, 1_200],
  ["four fifths of the time in another process", { batchMax: 400 }, 1_920],
] as const)("a lasting backlog on a store is pruned for %s", async (_share, size, expected) => {
  const cluster = await (TEST_STORES[0] ?? expect.unreachable()).create(onTestFinished);
  let prunes = 0;
  const through = (store: Store): Store => ({
    ...intercepted(store, async (call, proceed) => {
      const answer = await proceed();
      if (call.method !== "prune") return answer;
      prunes += 1;
      await new Promise<void>((resolve) => cluster.world.clock.wakeAt(cluster.world.now() + 100, resolve));
      return { ...(answer as Pruned), done: false } as typeof answer;
    }),
    ...size,
  });
  await cluster.engine({ workflows: [job], through, retention: { completed: "1 min" } });
  await cluster.world.advance("5 min");
  // Two calls of 100 ms, and a pause, for four minutes.
  expect(prunes).toBeGreaterThan(expected * 0.97);
  expect(prunes).toBeLessThan(expected * 1.03);
});

it("an invalid retention is rejected", async () => {
  const cluster = await (TEST_STORES[0] ?? expect.unreachable()).create(onTestFinished);
  const refused = { code: "OPTION_INVALID" };
  await expect(cluster.engine({ retention: { completed: -1 } })).rejects.toMatchObject({ code: "DURATION_INVALID" });
  await expect(cluster.engine({ retention: { running: "1 h" } as object })).rejects.toMatchObject(refused);
  const engine = await cluster.engine();
  for (const batch of [0, 1.5, 1e9]) await expect(engine.prune({ batch })).rejects.toMatchObject(refused);
});
