import { describe, expect, it, onTestFinished } from "vitest";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

const approval = workflow("approval", async (ctx) => {
  await ctx.step("prepare", () => undefined);
  await ctx.listen("approve", { timeout: "2 days", name: "ask" });
});

describe.each(TEST_STORES)("explain, on the store $name", ({ create }) => {
  const open = () => create(onTestFinished);

  it("explain returns what a suspended run waits for, since when, until when, and its owner", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [approval] });
    await engine.start(approval, undefined, { id: "r" });
    await cluster.world.settle();
    const since = cluster.world.now();
    await cluster.world.advance("5 min");
    const explanation = await engine.explain("r");
    expect(explanation).toMatchObject({
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
    expect(explanation.sentence).toBe(
      'run r of approval v1 has been suspended for 5 min, waiting for message "approve" at ask (timeout in 1 d 23 h)',
    );
  });

  it("`since` stays the same after a takeover, and restarts after a pause", async () => {
    const cluster = await open();
    const pair = workflow("pair", async (ctx) => await ctx.listenN("go", 2));
    const engine = await cluster.engine({ workflows: [pair] });
    await engine.start(pair, undefined, { id: "r" });
    await cluster.world.settle();
    const since = cluster.world.now();
    const successor = await cluster.takeOver(engine, { workflows: [pair] });
    await successor.send("r", "go", null);
    await cluster.world.advance("1 min");
    expect(await successor.explain("r")).toMatchObject({
      since,
      owner: { id: successor.workerId },
      why: { kind: "waiting" },
    });
    await successor.pause("r");
    await cluster.world.advance("1 min");
    const resumedAt = cluster.world.now();
    await successor.resume("r");
    await cluster.world.settle();
    expect(await successor.explain("r")).toMatchObject({ since: resumedAt, why: { kind: "waiting" } });
  });

  it("explain lists the topics, children and times that a run waits for at once", async () => {
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
    const explanation = await engine.explain("p");
    const [kid] = (await engine.list({ workflow: "child" })).items;
    expect(explanation.waits.map(({ location, topics, children }) => [location, topics, children])).toEqual([
      ["price", ["price"], []],
      ["either", [], [{ location: "kid", runId: kid?.id, status: "suspended" }]],
      ["sleep", [], []],
      ["a", [], []],
    ]);
    expect(explanation.sentence).toContain(
      `waiting for an event on topic "price", child ${kid?.id} (suspended) at either (timeout in 1 h), the end of sleep in 3 h and 1 more`,
    );
  });

  it("explain reports a step between retries: attempts, error and time of the next attempt", async () => {
    const cluster = await open();
    const flaky = workflow("flaky", async (ctx) => {
      await ctx.step("charge", () => Promise.reject(new Error("no route")), {
        retry: { maxAttempts: 5, initialMs: 60_000, factor: 1, jitter: 0 },
      });
    });
    const engine = await cluster.engine({ workflows: [flaky] });
    await engine.start(flaky, undefined, { id: "r" });
    await cluster.world.advance("90 s");
    const explanation = await engine.explain("r");
    expect(explanation.why).toMatchObject({
      kind: "backingOff",
      location: "charge",
      attempts: 2,
      error: { message: "no route" },
      until: cluster.world.now() + 30_000,
    });
    expect(explanation.sentence).toBe("run r of flaky v1 is retrying charge: attempt 3 in 30 s; last error: no route");
  });

  it("explain distinguishes a run paused by an operator from a diverged run", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [approval] });
    await engine.start(approval, undefined, { id: "r" });
    await engine.start(approval, undefined, { id: "s" });
    await cluster.world.settle();
    await engine.pause("s", "maintenance");
    const other = workflow("approval", async (ctx) => await ctx.step("renamed", () => undefined));
    const successor = await cluster.takeOver(engine, { workflows: [other] });
    await successor.send("r", "approve", null);
    await cluster.world.advance("2 s");
    expect(await successor.explain("s")).toMatchObject({ why: { kind: "paused" }, status: "paused", owner: null });
    expect((await successor.explain("s")).sentence).toBe("run s of approval v1 is paused: maintenance");
    const explanation = await successor.explain("r");
    expect(explanation.why).toMatchObject({ kind: "diverged", error: { code: "HISTORY_DIVERGED" } });
    expect(explanation.sentence).toMatch(
      /^run r of approval v1 diverged at prepare: the journal has step \(record 1\).* the run is paused/,
    );
  });

  it("explain reports that no live worker has the run's version, and the versions that workers have", async () => {
    const cluster = await open();
    const second = workflow("approval", { version: 2 }, async () => undefined);
    const third = workflow("approval", { version: 3 }, async () => undefined);
    const client = await cluster.engine();
    await client.start(approval, undefined, { id: "r" });
    await cluster.world.advance("1 min");
    const alone = await client.explain("r");
    expect(alone).toMatchObject({ status: "pending", why: { kind: "noWorker", versions: [] }, workers: { live: 0 } });
    expect(alone.sentence).toBe("run r of approval v1 has been due for 1 min; no worker is alive");
    await cluster.engine({ workflows: [third, second] });
    await cluster.world.settle();
    const explanation = await client.explain("r");
    expect(explanation).toMatchObject({
      why: { kind: "noWorker", versions: [2, 3] },
      workers: { live: 1, knowing: 0 },
    });
    expect(explanation.sentence).toContain("no live worker has approval v1 (workers have v2, v3)");
  });

  it("explain reports a delayed run, a run without a slot, a working run and a run whose owner is gone", async () => {
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
      `run first of busy v1 is running on worker ${engine.workerId}; it has no record yet`,
    );
    expect((await engine.explain("second")).why).toMatchObject({ kind: "waitsForRoom", claims: 0 });
    expect((await engine.explain("second")).sentence).toContain(
      "has been due for 1 min, waiting for a worker with a free slot",
    );
    expect(await engine.explain("later")).toMatchObject({ why: { kind: "delayed" }, status: "pending" });
    expect((await engine.explain("later")).sentence).toContain("is pending; it starts in 59 min");
    const client = await cluster.engine();
    cluster.crash(engine);
    await cluster.world.advance("1 min");
    const explanation = await client.explain("first");
    expect(explanation).toMatchObject({
      why: { kind: "ownerGone", owner: engine.workerId },
      owner: { isAlive: false },
    });
    expect(explanation.sentence).toContain(
      "stopped sending heartbeats and its lease expired; another worker takes over",
    );
    expect(await client.explain("second")).toMatchObject({
      why: { kind: "noWorker" },
      workers: { live: 0, knowing: 0 },
    });
  });

  it("explain reports how a run ended, and that a run was poisoned", async () => {
    const cluster = await open();
    const killer = workflow("killer", async (ctx) => await ctx.step("kill", () => kill()));
    let kill = (): Promise<void> => Promise.reject(new Error("broken"));
    const engine = await cluster.engine({ workflows: [killer, approval], claimsMax: 4 });
    await engine.start(killer, undefined, { id: "failed" });
    await engine.start(approval, undefined, { id: "cancelled" });
    await cluster.world.advance("1 min");
    await engine.cancel("cancelled", "not needed");
    expect(await engine.explain("failed")).toMatchObject({
      why: { kind: "ended", status: "failed", error: { message: "broken" } },
      nextDueAt: null,
      waits: [],
    });
    expect((await engine.explain("failed")).sentence).toMatch(/^run failed of killer v1 failed \d+ m?s ago: broken$/);
    expect((await engine.explain("cancelled")).sentence).toBe(
      "run cancelled of approval v1 was cancelled 0 ms ago: not needed",
    );
    kill = () => new Promise(() => undefined);
    await engine.start(killer, undefined, { id: "poison" });
    let last = engine;
    for (let round = 0; round < 6; round += 1)
      last = await cluster.takeOver(last, { workflows: [killer], claimsMax: 4 });
    const explanation = await last.explain("poison");
    expect(explanation.why).toMatchObject({ kind: "poisoned", error: { code: "POISONED" } });
    expect(explanation.sentence).toMatch(/^run poison of killer v1 failed \d+ m?s ago: lost its worker/);
  });
});

it("explain rejects with RUN_NOT_FOUND for a missing run", async () => {
  const cluster = await (TEST_STORES[0] ?? expect.unreachable()).create(onTestFinished);
  const engine = await cluster.engine();
  await expect(engine.explain("nobody")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
});
