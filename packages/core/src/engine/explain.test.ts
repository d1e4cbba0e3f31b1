import { describe, expect, it, onTestFinished } from "vitest";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

const approval = workflow("approval", async (ctx) => {
  await ctx.step("prepare", () => undefined);
  await ctx.listen("approve", { timeout: "2 days", name: "ask" });
});

describe.each(TEST_STORES)("explain on $name", ({ create }) => {
  const open = () => create(onTestFinished);

  it("tells what a suspended run waits for, since when, until when, and who owns it", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [approval] });
    await engine.start(approval, undefined, { id: "r" });
    await cluster.world.settle();
    const since = cluster.world.now();
    await cluster.world.advance("5 min");
    const told = await engine.explain("r");
    expect(told).toMatchObject({
      runId: "r",
      workflow: "approval",
      version: 1,
      status: "suspended",
      why: { kind: "waiting" },
      since,
      waits: [
        {
          location: "ask",
          kind: "listen",
          since,
          until: since + 172_800_000,
          messages: ["approve"],
          topics: [],
          children: [],
        },
      ],
      waitsCount: 1,
      owner: { id: engine.workerId, isAlive: true },
      workers: { live: 1, knowing: 1 },
      nextDueAt: since + 172_800_000,
      lastRecord: { seq: 1, location: "prepare", kind: "step", outcome: "ok", at: since },
      at: cluster.world.now(),
    });
    expect(told.sentence).toBe(
      "run r of approval v1 is suspended for 5m: it waits for message approve at ask, at most 1d 23h more",
    );
  });

  it("keeps since when it waits, whoever brings the run back; a pause begins it anew", async () => {
    const cluster = await open();
    const pair = workflow("pair", async (ctx) => await ctx.listenN("go", 2));
    const engine = await cluster.engine({ workflows: [pair] });
    await engine.start(pair, undefined, { id: "r" });
    await cluster.world.settle();
    const since = cluster.world.now();
    const heir = await cluster.takeOver(engine, { workflows: [pair] });
    await heir.send("r", "go", null);
    await cluster.world.advance("1 min");
    expect(await heir.explain("r")).toMatchObject({ since, owner: { id: heir.workerId }, why: { kind: "waiting" } });
    await heir.pause("r");
    await cluster.world.advance("1 min");
    const resumedAt = cluster.world.now();
    await heir.resume("r");
    await cluster.world.settle();
    expect(await heir.explain("r")).toMatchObject({ since: resumedAt, why: { kind: "waiting" } });
  });

  it("names topics, children and times that a run waits for at once", async () => {
    const cluster = await open();
    const child = workflow("child", async (ctx) => await ctx.listen("go"));
    const parent = workflow("parent", async (ctx) => {
      const handle = await ctx.startChild(child, undefined, { name: "kid" });
      await Promise.all([
        ctx.awaitEvent("price"),
        ctx.select({ done: { child: handle }, late: { after: "1 h" } }, { name: "either" }),
        ctx.sleep("3 h"),
        ctx.listen("a"),
      ]);
    });
    const engine = await cluster.engine({ workflows: [parent, child] });
    await engine.start(parent, undefined, { id: "p" });
    await cluster.world.settle();
    const told = await engine.explain("p");
    const [kid] = (await engine.list({ workflow: "child" })).items;
    expect(told.waits.map(({ location, topics, children }) => [location, topics, children])).toEqual([
      ["price", ["price"], []],
      ["either", [], [{ location: "kid", runId: kid?.id, status: "suspended" }]],
      ["sleep", [], []],
      ["a", [], []],
    ]);
    expect(told.sentence).toContain(
      `it waits for an event on price at price, child ${kid?.id} (suspended) at either, at most 1h more, the end of sleep in 3h and 1 more`,
    );
  });

  it("tells of a step that backs off: how often it failed, why, and when the next try is", async () => {
    const cluster = await open();
    const flaky = workflow("flaky", async (ctx) => {
      await ctx.step("charge", () => Promise.reject(new Error("no route")), {
        retry: { maxAttempts: 5, initialMs: 60_000, factor: 1, jitter: 0 },
      });
    });
    const engine = await cluster.engine({ workflows: [flaky] });
    await engine.start(flaky, undefined, { id: "r" });
    await cluster.world.advance("90 s");
    const told = await engine.explain("r");
    expect(told.why).toMatchObject({
      kind: "backingOff",
      location: "charge",
      attempts: 2,
      error: { message: "no route" },
      until: cluster.world.now() + 30_000,
    });
    expect(told.sentence).toBe(
      "run r of flaky v1 is suspended: charge failed 2 times (no route); the next try is in 30s",
    );
  });

  it("tells why a run is paused: by hand, or because its code does not fit its journal", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [approval] });
    await engine.start(approval, undefined, { id: "r" });
    await engine.start(approval, undefined, { id: "s" });
    await cluster.world.settle();
    await engine.pause("s", "maintenance");
    const other = workflow("approval", async (ctx) => await ctx.step("renamed", () => undefined));
    const heir = await cluster.takeOver(engine, { workflows: [other] });
    await heir.send("r", "approve", null);
    await cluster.world.advance("2 s");
    expect(await heir.explain("s")).toMatchObject({ why: { kind: "paused" }, status: "paused", owner: null });
    expect((await heir.explain("s")).sentence).toBe("run s of approval v1 is paused: maintenance");
    const told = await heir.explain("r");
    expect(told.why).toMatchObject({ kind: "diverged", error: { code: "HISTORY_DIVERGED" } });
    expect(told.sentence).toContain("is paused: run r diverged at prepare: the journal has step (record 1)");
  });

  it("tells that no worker knows a run's version, and which versions are known", async () => {
    const cluster = await open();
    const second = workflow("approval", { version: 2 }, async () => undefined);
    const third = workflow("approval", { version: 3 }, async () => undefined);
    const client = await cluster.engine();
    await client.start(approval, undefined, { id: "r" });
    await cluster.world.advance("1 min");
    const alone = await client.explain("r");
    expect(alone).toMatchObject({ status: "pending", why: { kind: "noWorker", versions: [] }, workers: { live: 0 } });
    expect(alone.sentence).toBe("run r of approval v1 is pending and due 1m ago, but no worker is alive");
    await cluster.engine({ workflows: [third, second] });
    await cluster.world.settle();
    const told = await client.explain("r");
    expect(told).toMatchObject({ why: { kind: "noWorker", versions: [2, 3] }, workers: { live: 1, knowing: 0 } });
    expect(told.sentence).toContain("no live worker knows approval v1, only v2, v3");
  });

  it("tells of a delay, of a run that waits for room, of one that is worked on, and of one whose worker is silent", async () => {
    const cluster = await open();
    const busy = workflow("busy", async (ctx) => await ctx.step("long", () => new Promise(() => undefined)));
    const engine = await cluster.engine({ workflows: [busy], concurrency: 1 });
    await engine.start(busy, undefined, { id: "first" });
    await cluster.world.settle();
    await engine.start(busy, undefined, { id: "second" });
    await engine.start(busy, undefined, { id: "later", delay: "1 h" });
    await cluster.world.advance("1 min");
    expect((await engine.explain("first")).why).toEqual({ kind: "working" });
    expect((await engine.explain("first")).sentence).toBe(
      `run first of busy v1 is running: worker ${engine.workerId} works on it; it has no record yet`,
    );
    expect((await engine.explain("second")).why).toMatchObject({ kind: "waitsForRoom", claims: 0 });
    expect((await engine.explain("second")).sentence).toContain("due 1m ago: it waits for a worker with room");
    expect(await engine.explain("later")).toMatchObject({ why: { kind: "delayed" }, status: "pending" });
    expect((await engine.explain("later")).sentence).toContain("is pending: it begins in 59m");
    const client = await cluster.engine();
    cluster.crash(engine);
    await cluster.world.advance("1 min");
    const told = await client.explain("first");
    expect(told).toMatchObject({ why: { kind: "ownerGone", owner: engine.workerId }, owner: { isAlive: false } });
    expect(told.sentence).toContain("is silent: another takes it over");
    expect(await client.explain("second")).toMatchObject({
      why: { kind: "noWorker" },
      workers: { live: 0, knowing: 0 },
    });
  });

  it("tells how a run ended, and of one that was given up as poison", async () => {
    const cluster = await open();
    const killer = workflow("killer", async (ctx) => await ctx.step("kill", () => kill()));
    let kill = (): Promise<void> => Promise.reject(new Error("broken"));
    const engine = await cluster.engine({ workflows: [killer, approval], claimsMax: 1 });
    await engine.start(killer, undefined, { id: "failed" });
    await engine.start(approval, undefined, { id: "cancelled" });
    await cluster.world.advance("1 min");
    await engine.cancel("cancelled", "not needed");
    expect(await engine.explain("failed")).toMatchObject({
      why: { kind: "ended", status: "failed", error: { message: "broken" } },
      nextDueAt: null,
      waits: [],
    });
    expect((await engine.explain("failed")).sentence).toMatch(/^run failed of killer v1 failed \S+ ago: broken$/);
    expect((await engine.explain("cancelled")).sentence).toBe(
      "run cancelled of approval v1 was cancelled 0ms ago: not needed",
    );
    kill = () => new Promise(() => undefined);
    await engine.start(killer, undefined, { id: "poison" });
    let last = engine;
    for (let round = 0; round < 3; round += 1)
      last = await cluster.takeOver(last, { workflows: [killer], claimsMax: 1 });
    const told = await last.explain("poison");
    expect(told.why).toMatchObject({ kind: "poisoned", error: { code: "POISONED" } });
    expect(told.sentence).toContain("run poison of killer v1 failed");
  });
});

it("a run that is not there can't be explained", async () => {
  const cluster = await (TEST_STORES[0] ?? expect.unreachable()).create(onTestFinished);
  const engine = await cluster.engine();
  await expect(engine.explain("nobody")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
});
