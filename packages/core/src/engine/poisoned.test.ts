import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Engine,
  type EngineOptions,
  type RunHandle,
  rollbackFailures,
  type Workflow,
  workflow,
} from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { PARTITIONED_STORES, TEST_STORES } from "../testing/test-stores.ts";

/** One lease of the cluster's engines, and a poll. */
const TAKE_OVER_MS = 4_000;
const WORKERS_MAX = 30;

/** A cluster with one worker at a time, which `crash` ends. */
async function stage(cluster: TestCluster, options: Pick<EngineOptions, "poisoned" | "claimsMax"> = {}) {
  const client = await cluster.engine();
  let worker: Engine | null = null;
  let crashes = 0;
  const crash = (): Promise<never> => {
    crashes += 1;
    if (worker !== null) cluster.crash(worker);
    return new Promise<never>(() => undefined);
  };
  /** Starts a worker whenever the last one crashed, until the runs have ended. */
  const untilEnded = async (workflows: readonly Workflow[], ...runs: readonly RunHandle[]): Promise<void> => {
    const isOpen = async (run: RunHandle): Promise<boolean> => !["completed", "failed"].includes(await run.status());
    for (let workers = 0; workers < WORKERS_MAX; workers += 1) {
      if (!(await Promise.all(runs.map(isOpen))).includes(true)) return;
      if (worker === null || cluster.crashed(worker)) worker = await cluster.engine({ workflows, ...options });
      await cluster.world.advance(TAKE_OVER_MS);
    }
    expect.unreachable("the runs did not end");
  };
  return { client, crash, untilEnded, crashes: () => crashes };
}

describe.each([...TEST_STORES, ...PARTITIONED_STORES])("a poisoned run, on the store $name", ({ create }) => {
  it("a run that fails with POISONED is compensated, newest step first, and replay executes no step again", async () => {
    const cluster = await create(onTestFinished);
    const { client, crash, untilEnded, crashes } = await stage(cluster);
    const effects: string[] = [];
    const order = workflow("order", async (ctx) => {
      for (const name of ["reserve", "charge"])
        await ctx.step(name, () => void effects.push(name), { rollback: () => void effects.push(`undo ${name}`) });
      await ctx.step("kill", crash);
    });
    const run = await client.start(order, undefined);
    await untilEnded([order], run);
    expect((await cluster.failure(run)).cause).toMatchObject({ code: "POISONED" });
    expect(effects).toEqual(["reserve", "charge", "undo charge", "undo reserve"]);
    // The first crash is after progress, five more are counted.
    expect(crashes()).toBe(6);
    expect((await run.journal()).map(({ kind, location }) => `${kind} ${location}`)).toEqual([
      "step reserve",
      "step charge",
      "compensate ~compensate",
      "rollback charge/~rollback",
      "rollback reserve/~rollback",
    ]);
  });

  it("a run that fails with POISONED keeps its steps for a retry if the engine has the option poisoned: keep", async () => {
    const cluster = await create(onTestFinished);
    const { client, crash, untilEnded } = await stage(cluster, { poisoned: "keep" });
    const effects: string[] = [];
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => void effects.push("charge"), { rollback: () => void effects.push("undo") });
      return await ctx.step("ship", () => (isFixed ? "shipped" : crash()));
    });
    let isFixed = false;
    const run = await client.start(order, undefined);
    await untilEnded([order], run);
    expect((await cluster.failure(run)).cause).toMatchObject({ code: "POISONED" });
    isFixed = true;
    await client.retry(run.id);
    await untilEnded([order], run);
    expect(await cluster.result(run)).toBe("shipped");
    expect(effects).toEqual(["charge"]);
  });

  it("a rollback that crashes its workers is tried beside no other suspect, a bounded number of times", async () => {
    const cluster = await create(onTestFinished);
    const { client, crash, untilEnded, crashes } = await stage(cluster);
    let kills = 0;
    const killer = workflow("killer", async (ctx) => {
      await ctx.step("charge", () => 1, { rollback: crash });
      await ctx.step("kill", () => {
        kills += 1;
        return crash();
      });
    });
    const waits = workflow("waits", async (ctx) => {
      await ctx.sleep("1 min");
      return "done";
    });
    const run = await client.start(killer, undefined);
    const others = await Promise.all(Array.from({ length: 5 }, () => client.start(waits, undefined)));
    await untilEnded([killer, waits], run, ...others);
    const { cause } = await cluster.failure(run);
    expect(cause).toMatchObject({ code: "POISONED", message: expect.stringContaining("while it was compensating") });
    expect(await Promise.all(others.map((other) => other.status()))).toEqual(others.map(() => "completed"));
    // With three claims counted already, two of five are left.
    expect(crashes() - kills).toBe(2);
  });

  it("a run that crashes its workers with each execution is compensated even if claimsMax is 4", async () => {
    const cluster = await create(onTestFinished);
    const { client, crash, untilEnded } = await stage(cluster, { claimsMax: 4 });
    const effects: string[] = [];
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => void effects.push("charge"), { rollback: () => void effects.push("undo") });
      await ctx.step("kill", crash);
    });
    const run = await client.start(order, undefined);
    await untilEnded([order], run);
    const failure = await cluster.failure(run);
    expect([failure.cause, rollbackFailures(failure)]).toMatchObject([{ code: "POISONED" }, []]);
    expect(effects).toEqual(["charge", "undo"]);
  });

  it("the parent of a poisoned child undoes its own steps after those of the child", async () => {
    const cluster = await create(onTestFinished);
    const { client, crash, untilEnded } = await stage(cluster);
    const undone: string[] = [];
    const child = workflow("child", async (ctx) => {
      await ctx.step("pay", () => 1, { rollback: () => void undone.push("pay") });
      await ctx.step("kill", crash);
    });
    const parent = workflow("parent", async (ctx) => {
      await ctx.step("reserve", () => 1, { rollback: () => void undone.push("reserve") });
      await ctx.child(child, undefined);
    });
    const run = await client.start(parent, undefined);
    await untilEnded([parent, child], run);
    expect(await run.status()).toBe("failed");
    expect(undone).toEqual(["pay", "reserve"]);
  });
});
