import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, type Status, workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { PARTITIONED_STORES, TEST_STORES } from "../testing/test-stores.ts";

const STEP_MS = 500;

/** One lease of the cluster's engines, and a poll. */
const TAKE_OVER_MS = 4_000;

interface Cast {
  readonly client: Engine;
  /** The worker that executes the runs. */
  worker: Engine;
  /** Crashes of the worker, by the killer or by the test. */
  crashes: number;
  /** How often the worker was lost with the killer, and how many runs were executing then. */
  readonly victims: number[];
}

/** A cluster with one worker at a time. The runs with an id of `killers` crash it, the others take half a second for their step. */
async function stage(cluster: TestCluster, killers: readonly string[] = []) {
  const executing = new Set<string>();
  const client = await cluster.engine();
  const cast: Cast = { client, worker: client, crashes: 0, victims: [] };
  const work = workflow("work", async (ctx, input: null | "listens") => {
    const step = ctx.step("work", async () => {
      executing.add(ctx.runId);
      if (killers.includes(ctx.runId)) {
        // Another run may be claimed with it, and starts its step in the same turn.
        cluster.world.clock.wakeAt(cluster.world.now() + STEP_MS / 2, () => {
          cast.victims.push(executing.size);
          crash();
        });
        return await new Promise<string>(() => undefined);
      }
      await new Promise<void>((resolve) => cluster.world.clock.wakeAt(cluster.world.now() + STEP_MS, resolve));
      executing.delete(ctx.runId);
      return ctx.runId;
    });
    const received = input === "listens" ? [ctx.listen<string>("go").then(({ value }) => value)] : [];
    return await Promise.race([step, ...received]);
  });
  const crash = (): void => {
    cast.crashes += 1;
    executing.clear();
    cluster.crash(cast.worker);
  };
  /** Starts a worker if the last one crashed, and gives it the time to take its runs over. */
  const recover = async (): Promise<void> => {
    if (cast.worker === client || cluster.crashed(cast.worker))
      cast.worker = await cluster.engine({ workflows: [work] });
    await cluster.world.advance(TAKE_OVER_MS);
  };
  return { cast, work, crash, recover };
}

async function statuses(engine: Engine): Promise<Record<Status, number>> {
  const counts: Partial<Record<Status, number>> = {};
  for (const { status } of (await engine.list({ limit: 1_000 })).items) counts[status] = (counts[status] ?? 0) + 1;
  return counts as Record<Status, number>;
}

describe.each([...TEST_STORES, ...PARTITIONED_STORES])("suspects, on the store $name", ({ create }) => {
  it("200 runs in a step of half a second end within ten seconds of the last of three crashes", async () => {
    const cluster = await create(onTestFinished);
    const { cast, work, crash, recover } = await stage(cluster);
    const { client } = cast;
    await Promise.all(Array.from({ length: 200 }, (_, n) => client.start(work, null, { id: `r-${n}` })));
    for (let crashes = 0; crashes < 3; crashes += 1) {
      cast.worker = await cluster.engine({ workflows: [work] });
      // The runs of the worker before are free when its lease has expired, and their steps have begun.
      await cluster.world.advance(crashes === 0 ? STEP_MS / 2 : TAKE_OVER_MS - STEP_MS);
      crash();
    }
    await recover();
    await cluster.world.advance("10 s");
    expect(await statuses(client)).toEqual({ completed: 200 });
  });

  it("a run that crashes its workers is isolated in a logarithmic number of crashes, and no other run fails", async () => {
    const cluster = await create(onTestFinished);
    const { cast, work, recover } = await stage(cluster, ["r-20"]);
    const { client } = cast;
    await Promise.all(Array.from({ length: 64 }, (_, n) => client.start(work, null, { id: `r-${n}` })));
    for (let rounds = 0; rounds < 40 && (await client.run("r-20").status()) !== "failed"; rounds += 1) await recover();
    await cluster.world.advance("30 s");
    expect(await statuses(client)).toEqual({ completed: 63, failed: 1 });
    const failure = await client
      .run("r-20")
      .result()
      .catch((error: Error) => error.cause);
    expect(failure).toMatchObject({ code: "POISONED" });
    // Two crashes make suspects of all runs, at most log2(64) isolate the killer, and three of it alone condemn it.
    expect(cast.crashes).toBeLessThanOrEqual(2 + 6 + 3);
    expect(cast.victims.slice(-3)).toEqual([1, 1, 1]);
  });

  it("a suspect that writes a wait beside its step made no progress, and stays alone", async () => {
    const cluster = await create(onTestFinished);
    const { cast, work, recover } = await stage(cluster, ["r-0", "r-1"]);
    const { client } = cast;
    await Promise.all(Array.from({ length: 6 }, (_, n) => client.start(work, "listens", { id: `r-${n}` })));
    for (let rounds = 0; rounds < 60 && (await statuses(client)).failed !== 2; rounds += 1) await recover();
    await cluster.world.advance("30 s");
    expect(await statuses(client)).toEqual({ completed: 4, failed: 2 });
  });

  it("two runs that crash their workers are both found, and no other run fails", async () => {
    const cluster = await create(onTestFinished);
    const { cast, work, recover } = await stage(cluster, ["r-3", "r-4"]);
    const { client } = cast;
    await Promise.all(Array.from({ length: 16 }, (_, n) => client.start(work, null, { id: `r-${n}` })));
    for (let rounds = 0; rounds < 60 && (await statuses(client)).failed !== 2; rounds += 1) await recover();
    await cluster.world.advance("30 s");
    expect(await statuses(client)).toEqual({ completed: 14, failed: 2 });
    expect(cast.crashes).toBeLessThanOrEqual(2 + 2 * (4 + 3));
  });

  it("a suspect with a long step does not hold back the others", async () => {
    const cluster = await create(onTestFinished);
    let finish = (): void => undefined;
    const work = workflow("work", async (ctx) =>
      ctx.step("work", async () => {
        if (ctx.runId === "r-0") await new Promise<void>((resolve) => (finish = resolve));
        else await new Promise<void>((resolve) => cluster.world.clock.wakeAt(cluster.world.now() + STEP_MS, resolve));
      }),
    );
    const client = await cluster.engine();
    await Promise.all(Array.from({ length: 40 }, (_, n) => client.start(work, undefined, { id: `r-${n}` })));
    for (let crashes = 0; crashes < 3; crashes += 1) {
      const worker = await cluster.engine({ workflows: [work] });
      await cluster.world.advance(crashes === 0 ? STEP_MS / 2 : TAKE_OVER_MS - STEP_MS);
      cluster.crash(worker);
    }
    await cluster.engine({ workflows: [work] });
    await cluster.world.advance("15 s");
    expect(await statuses(client)).toEqual({ completed: 39, running: 1 });
    finish();
    await cluster.world.advance("1 s");
    expect(await statuses(client)).toEqual({ completed: 40 });
  });

  /** A run that lost its worker when it was alone, free to be claimed. */
  async function loneSuspect(cluster: TestCluster) {
    let finish = (): void => undefined;
    const bodies: string[] = [];
    const work = workflow("work", async (ctx) =>
      ctx.step("work", async () => {
        bodies.push(ctx.runId);
        if (ctx.runId === "lone") await new Promise<void>((resolve) => (finish = resolve));
      }),
    );
    const waits = workflow("waits", async (ctx) => {
      await ctx.listen("go");
      await ctx.step("work", () => void bodies.push(ctx.runId));
    });
    const busy = workflow("busy", async (ctx) => {
      for (let n = 0; n < 1_000; n += 1)
        await ctx.step(
          "work",
          () => new Promise<void>((done) => cluster.world.clock.wakeAt(cluster.world.now() + 100, done)),
        );
    });
    const client = await cluster.engine();
    await client.start(work, undefined, { id: "lone" });
    for (let crashes = 0; crashes < 3; crashes += 1) {
      const worker = await cluster.engine({ workflows: [work] });
      await cluster.world.advance(crashes === 0 ? STEP_MS / 2 : TAKE_OVER_MS);
      cluster.crash(worker);
    }
    expect(bodies.splice(0)).toEqual(["lone", "lone", "lone"]);
    return { client, work, waits, busy, bodies, finish: () => finish() };
  }

  it("a lone suspect is executed beside no other run: none is claimed, started or woken until it made progress", async () => {
    const cluster = await create(onTestFinished);
    const { client, work, waits, bodies, finish } = await loneSuspect(cluster);
    const worker = await cluster.engine({ workflows: [waits, work] });
    const parked = await worker.start(waits, undefined, { id: "parked" });
    await cluster.world.advance(TAKE_OVER_MS);
    expect(bodies).toEqual(["lone"]);
    await client.start(work, undefined, { id: "claimed" });
    await worker.start(work, undefined, { id: "local" });
    await parked.send("go", null);
    await cluster.world.advance("1 s");
    expect(bodies).toEqual(["lone"]);
    finish();
    await cluster.world.advance("1 s");
    expect(bodies.slice(1).sort()).toEqual(["claimed", "local", "parked"]);
    expect(await statuses(client)).toEqual({ completed: 4 });
  });

  it("other runs start beside a lone suspect that made no progress in two leases", async () => {
    const cluster = await create(onTestFinished);
    const { client, work, bodies, finish } = await loneSuspect(cluster);
    await cluster.engine({ workflows: [work] });
    await cluster.world.advance(TAKE_OVER_MS);
    await client.start(work, undefined, { id: "other" });
    await cluster.world.advance("1 s");
    expect(bodies).toEqual(["lone"]);
    await cluster.world.advance("10 s");
    expect(bodies).toEqual(["lone", "other"]);
    finish();
    await cluster.world.advance("1 s");
    expect(await statuses(client)).toEqual({ completed: 2 });
  });

  it("a lone suspect waits for an idle worker, and is executed after ten leases if none was idle", async () => {
    const cluster = await create(onTestFinished);
    const { client, work, busy, bodies, finish } = await loneSuspect(cluster);
    const worker = await cluster.engine({ workflows: [busy, work] });
    await worker.start(busy, undefined, { id: "busy" });
    await cluster.world.advance("20 s");
    expect(bodies).toEqual([]);
    await cluster.world.advance("20 s");
    expect(bodies).toEqual(["lone"]);
    finish();
    await cluster.world.advance("1 s");
    expect(await statuses(client)).toEqual({ completed: 1, running: 1 });
  });
});
