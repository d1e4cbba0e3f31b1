import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, type Store, workflow } from "../index.ts";
import { heartbeatGate } from "../testing/heartbeat-gate.ts";
import { intercepted } from "../testing/intercepted.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Several leases: the cluster's lease is 3 s. */
const BLOCKED_MS = 20_000;

/** What a step does that computes for so long: no timer fires meanwhile. */
function block(cluster: TestCluster): void {
  const { clock } = cluster.world;
  clock.set(clock.now() + BLOCKED_MS);
}

function countLosses(engine: Engine): () => number {
  let losses = 0;
  engine.on("run.lost", () => (losses += 1));
  return () => losses;
}

/**
 * A store whose worker meets another worker after each block: before its next call, the other one frees and claims its runs, and retires
 * if it is asked to.
 */
function rival(cluster: TestCluster, names: readonly string[], ends: "retires" | "stays") {
  const workflows = names.map((name) => ({ name, version: 1 }));
  const other = cluster.connect();
  const opened = other.open({ now: () => cluster.world.now(), every: () => () => undefined });
  let isBlocked = false;
  let taken = Promise.resolve();
  const takeRuns = async (): Promise<void> => {
    const release = cluster.world.hold();
    await opened;
    await other.heartbeat("rival", 3_600_000);
    await other.claim({ worker: "rival", workflows, limit: 100 });
    if (ends === "retires") await other.retire("rival");
    release();
  };
  return {
    block(): void {
      block(cluster);
      isBlocked = true;
    },
    through: (store: Store): Store =>
      intercepted(store, async (_, proceed) => {
        if (isBlocked) {
          isBlocked = false;
          taken = takeRuns();
        }
        // Calls that are made meanwhile wait too.
        await taken;
        return await proceed();
      }),
  };
}

describe.each(TEST_STORES)("a blocked event loop, on the store $name", ({ create }) => {
  it("a step that blocks the event loop longer than the lease is executed once, and its result is committed", async () => {
    const cluster = await create(onTestFinished);
    let executions = 0;
    const computes = workflow("computes", async (ctx) =>
      ctx.step("compute", () => {
        executions += 1;
        block(cluster);
        return "computed";
      }),
    );
    const engine = await cluster.engine({ workflows: [computes] });
    const losses = countLosses(engine);
    const run = await engine.start(computes, undefined);
    expect(await cluster.finish(run)).toBe("computed");
    expect([executions, losses()]).toEqual([1, 0]);
  });

  it("runs beside a step that blocks the event loop stay with their worker, and no step of theirs is repeated", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const waits = workflow("waits", async (ctx) =>
      ctx.step("work", () => new Promise<string>((resolve) => bodies.push(resolve))),
    );
    const computes = workflow("computes", async (ctx) => ctx.step("compute", () => block(cluster)));
    const engine = await cluster.engine({ workflows: [waits, computes] });
    const losses = countLosses(engine);
    const runs = await Promise.all([engine.start(waits, undefined), engine.start(waits, undefined)]);
    await cluster.world.settle();
    await engine.start(computes, undefined);
    await cluster.world.advance("5 s");
    expect(bodies).toHaveLength(2);
    for (const end of bodies) end("done");
    expect(await Promise.all(runs.map((run) => cluster.result(run)))).toEqual(["done", "done"]);
    expect([bodies.length, losses()]).toEqual([2, 0]);
  });

  it("a run that another worker freed and none claimed returns to its worker in the same epoch", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) => {
      const first = await ctx.step("first", () => new Promise<string>((resolve) => bodies.push(resolve)));
      return await ctx.step("second", () => `${first}, then second`);
    });
    const other = workflow("other", async () => null);
    const gate = heartbeatGate();
    const engine = await cluster.engine({ workflows: [long], through: gate.through });
    const losses = countLosses(engine);
    const run = await engine.start(long, undefined, { id: "r-1" });
    await cluster.world.settle();
    gate.close();
    const second = await cluster.engine({ workflows: [other] });
    await cluster.world.advance("10 s");
    expect(await second.get("r-1")).toMatchObject({ owner: null, epoch: 1 });
    gate.open();
    await cluster.world.settle();
    expect((await second.get("r-1"))?.owner).not.toBe(null);
    bodies[0]!("first");
    expect(await cluster.result(run)).toBe("first, then second");
    expect([bodies.length, losses()]).toEqual([1, 0]);
    expect(await second.get("r-1")).toMatchObject({ epoch: 1 });
  });

  it("a result that arrives after its run was freed is committed if no other worker claimed the run", async () => {
    const cluster = await create(onTestFinished);
    const bodies: Array<(value: string) => void> = [];
    const long = workflow("long", async (ctx) => {
      await ctx.step("first", () => new Promise<string>((resolve) => bodies.push(resolve)));
      return (await ctx.listen("go", { timeout: "1 hour" })).timedOut;
    });
    const other = workflow("other", async () => null);
    const gate = heartbeatGate();
    const engine = await cluster.engine({ workflows: [long], through: gate.through });
    const run = await engine.start(long, undefined);
    await cluster.world.settle();
    gate.close();
    const second = await cluster.engine({ workflows: [other] });
    await cluster.world.advance("10 s");
    bodies[0]!("first");
    await cluster.world.settle();
    cluster.crash(engine);
    const third = await cluster.engine({ workflows: [long] });
    await second.send(run.id, "go", null);
    expect(await cluster.finish(third.run(run.id))).toBe(false);
    expect(bodies).toHaveLength(1);
  });

  it("a step that blocks the event loop is logged once, with its run, its location and the cure", async () => {
    const cluster = await create(onTestFinished);
    const computes = workflow("computes", async (ctx) => ctx.step("compute", () => block(cluster)));
    const engine = await cluster.engine({ workflows: [computes] });
    for (const id of ["r-1", "r-2"]) await cluster.finish(await engine.start(computes, undefined, { id }));
    await cluster.world.advance("10 s");
    const lines = cluster.log.filter(({ text }) => text.startsWith("event loop blocked"));
    expect(lines).toMatchObject([
      {
        level: "warn",
        text: "event loop blocked by a step; move its work to a worker thread",
        fields: { run: "r-1", location: "compute", ms: BLOCKED_MS, leaseMs: 3_000 },
      },
    ]);
  });

  it("a block outside the first part of a step is logged with the running steps", async () => {
    const cluster = await create(onTestFinished);
    let resume = (): void => undefined;
    const computes = workflow("computes", async (ctx) =>
      ctx.step("compute", async () => {
        await new Promise<void>((resolve) => (resume = resolve));
        block(cluster);
      }),
    );
    const engine = await cluster.engine({ workflows: [computes] });
    await engine.start(computes, undefined, { id: "r-1" });
    const waits = workflow("waits", async (ctx) => ctx.step("wait", () => new Promise<void>(() => undefined)));
    await engine.register(waits);
    await engine.start(waits, undefined, { id: "r-2" });
    await cluster.world.settle();
    resume();
    await cluster.world.advance("10 s");
    const lines = cluster.log.filter(({ text }) => text.startsWith("event loop blocked"));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.fields).toMatchObject({ running: [{ run: "r-2", location: "wait" }] });
  });

  it("a run that is lost because of a block names the step that blocked", async () => {
    const cluster = await create(onTestFinished);
    const { block: blockAndLose, through } = rival(cluster, ["computes", "waits"], "stays");
    const reasons: Error[] = [];
    const computes = workflow("computes", async (ctx) => ctx.step("compute", blockAndLose));
    const waits = workflow("waits", async (ctx) =>
      ctx.step("wait", async ({ signal }) => {
        signal.addEventListener("abort", () => reasons.push(signal.reason as Error));
        await new Promise<void>(() => undefined);
      }),
    );
    const engine = await cluster.engine({ workflows: [computes, waits], through });
    await engine.start(waits, undefined, { id: "r-1" });
    await cluster.world.settle();
    await engine.start(computes, undefined, { id: "r-2" });
    await cluster.world.advance("5 s");
    expect(reasons.map(({ message }) => message)).toEqual([
      "this worker lost run r-1 (fenced): step compute of run r-2 blocked the event loop for 20 s; uncommitted results were discarded",
    ]);
    const lapse = cluster.log.find(({ text }) => text.startsWith("lease expired"));
    expect(lapse?.fields.blockedBy).toEqual({ run: "r-2", location: "compute", ms: BLOCKED_MS });
  });

  it("a claim after a block counts against the run that blocked, and against no other", async () => {
    const cluster = await create(onTestFinished);
    const { block: blockAndLose, through } = rival(cluster, ["computes", "waits"], "stays");
    const computes = workflow("computes", async (ctx) => ctx.step("compute", blockAndLose));
    const waits = workflow("waits", async (ctx) => ctx.step("wait", () => new Promise<void>(() => undefined)));
    const engine = await cluster.engine({ workflows: [computes, waits], through });
    await engine.start(waits, undefined, { id: "r-1" });
    await cluster.world.settle();
    await engine.start(computes, undefined, { id: "r-2" });
    await cluster.world.advance("5 s");
    const claims = await Promise.all(["r-1", "r-2"].map(async (id) => (await engine.get(id))?.claims));
    expect(claims).toEqual([0, 1]);
  });

  it("a run that loses its worker with each execution because it blocks fails with POISONED and the real cause", async () => {
    const cluster = await create(onTestFinished);
    const { block: blockAndLose, through } = rival(cluster, ["computes"], "retires");
    const computes = workflow("computes", async (ctx) => ctx.step("compute", blockAndLose));
    const engine = await cluster.engine({ workflows: [computes], through, claimsMax: 4 });
    const run = await engine.start(computes, undefined, { id: "r-1" });
    const failure = await cluster.finish(run).catch((error: Error) => error.cause as Error & { code?: string });
    expect(failure).toMatchObject({
      code: "POISONED",
      message: expect.stringContaining(
        "step compute of run r-1 blocked the event loop for 20 s, longer than the lease",
      ),
    });
  });
});
