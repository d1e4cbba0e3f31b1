import { describe, expect, it, onTestFinished } from "vitest";
import type { Pruned } from "../rules/tables.ts";
import type { Store } from "../store/store.ts";
import { intercepted } from "../testing/intercepted.ts";
import { STAGES } from "../testing/stages.ts";
import { workflow } from "../workflow/workflow.ts";
import type { PruneReport } from "./retention.ts";

const job = workflow("job", async (ctx, input: "completed" | "failed" | "cancelled" | "open") => {
  await ctx.step("begin", () => undefined);
  if (input === "failed") throw new Error("broken");
  if (input === "cancelled" || input === "open") await ctx.listen("go");
});

describe.each(STAGES)("retention on $name", ({ create }) => {
  const open = () => create(onTestFinished);

  it("removes runs by their status, each after its own time, and no run that is open", async () => {
    const stage = await open();
    const retention = { completed: "2 min", failed: "6 min", cancelled: "4 min" } as const;
    const engine = await stage.engine({ workflows: [job], retention });
    for (const kind of ["completed", "failed", "cancelled", "open"] as const)
      await engine.start(job, kind, { id: kind });
    await stage.world.settle();
    await engine.cancel("cancelled");
    const left = async () => (await engine.list()).items.map(({ id }) => id).sort();
    expect(await left()).toEqual(["cancelled", "completed", "failed", "open"]);
    await stage.world.advance("200 s");
    expect(await left()).toEqual(["cancelled", "failed", "open"]);
    await stage.world.advance("2 min");
    expect(await left()).toEqual(["failed", "open"]);
    await stage.world.advance("2 min");
    expect(await left()).toEqual(["open"]);
    await stage.world.advance("5 min");
    await engine.send("open", "go", null);
    await stage.world.settle();
    expect(await engine.run("open").status()).toBe("completed");
  });

  it("keeps everything unless it was asked for", async () => {
    const stage = await open();
    const engine = await stage.engine({ workflows: [job] });
    await engine.start(job, "completed", { id: "r" });
    await stage.world.advance("10 min");
    expect((await engine.get("r"))?.status).toBe("completed");
    expect(await engine.prune()).toEqual({ runs: 0, deadLetters: 0, entries: 0, expired: 0 });
  });

  it("goes on soon when there is more than one batch", async () => {
    const stage = await open();
    const engine = await stage.engine({ workflows: [job], retention: { completed: "1 minute" } });
    await Promise.all(Array.from({ length: 450 }, () => engine.start(job, "completed")));
    await stage.world.advance("1 minute");
    const left = async () => (await engine.list({ limit: 1_000 })).items.length;
    expect(await left()).toBe(450);
    await stage.world.advance("61 s");
    expect(await left()).toBe(0);
  });

  it("removes dead letters after their time", async () => {
    const stage = await open();
    const engine = await stage.engine({ workflows: [job], retention: { deadLetters: "2 min" } });
    const run = await engine.start(job, "open");
    await stage.world.settle();
    await run.send("other", 1, { onTargetTerminated: "deadLetter" });
    await run.cancel();
    await stage.world.advance("110 s");
    expect((await engine.deadLetters.list()).items).toHaveLength(1);
    await stage.world.advance("80 s");
    expect((await engine.deadLetters.list()).items).toHaveLength(0);
  });

  it("by hand removes all there is, in batches, tells of each, and can be ended between two", async () => {
    const stage = await open();
    const engine = await stage.engine({ workflows: [job] });
    await Promise.all(Array.from({ length: 25 }, () => engine.start(job, "completed")));
    await engine.start(job, "open", { id: "open" });
    await stage.world.advance("1 s");
    const progress: PruneReport[] = [];
    const ending = new AbortController();
    const options = { retention: { completed: 0 }, batch: 10 } as const;
    const first = engine.prune({ ...options, signal: ending.signal, onProgress: () => ending.abort() });
    await stage.world.settle();
    expect(await first).toMatchObject({ runs: 10 });
    const rest = engine.prune({ ...options, onProgress: (report) => progress.push(report) });
    await stage.world.settle();
    expect(await rest).toEqual({ runs: 15, deadLetters: 0, entries: 0, expired: 0 });
    expect(progress.map(({ runs }) => runs)).toEqual([10, 15]);
    expect((await engine.list()).items.map(({ id }) => id)).toEqual(["open"]);
  });

  it("keeps what a run that is open may have to undo: its children, and theirs", async () => {
    const stage = await open();
    const leaf = workflow("leaf", async () => "leaf");
    const middle = workflow("middle", async (ctx) => await ctx.child(leaf, undefined));
    const root = workflow("root", async (ctx) => {
      await ctx.child(middle, undefined);
      await ctx.listen("go");
    });
    const engine = await stage.engine({ workflows: [root, middle, leaf], retention: { completed: "1 min" } });
    const run = await engine.start(root, undefined);
    await stage.world.advance("200 s");
    expect((await engine.list()).items).toHaveLength(3);
    await run.send("go", null);
    await stage.world.advance("200 s");
    expect((await engine.list()).items).toHaveLength(0);
  });
});

it("a backlog that lasts is worked on by one loop, not by more and more", async () => {
  const stage = await (STAGES[0] ?? expect.unreachable()).create(onTestFinished);
  let prunes = 0;
  const through = (store: Store): Store =>
    intercepted(store, async (call, proceed) => {
      const answer = await proceed();
      if (call.method !== "prune") return answer;
      prunes += 1;
      return { ...(answer as Pruned), done: false } as typeof answer;
    });
  await stage.engine({ workflows: [job], through });
  await stage.world.advance("5 min");
  expect(prunes).toBeGreaterThan(1_000);
  expect(prunes).toBeLessThanOrEqual(1 + (4 * 60_000) / 200);
});

it("a retention that can't be is refused", async () => {
  const stage = await (STAGES[0] ?? expect.unreachable()).create(onTestFinished);
  const refused = { code: "OPTION_INVALID" };
  await expect(stage.engine({ retention: { completed: -1 } })).rejects.toMatchObject({ code: "DURATION_INVALID" });
  await expect(stage.engine({ retention: { running: "1 h" } as object })).rejects.toMatchObject(refused);
  const engine = await stage.engine();
  for (const batch of [0, 1.5, 1e9]) await expect(engine.prune({ batch })).rejects.toMatchObject(refused);
});
