import { describe, expect, it } from "vitest";
import type { KvDriver, KvWrite } from "../store/kv/kv-driver.ts";
import { type MemoryDriver, memoryDriver } from "../store/kv/memory-driver.ts";
import { decodeTuple } from "../store/kv/tuple.ts";
import { type VirtualWorld, virtualWorld } from "../testing/virtual-world.ts";
import { Loop } from "../workflow/structure.ts";
import { workflow } from "../workflow/workflow.ts";
import { type RunningWorkflow, runWorkflow } from "./run-workflow.ts";

const log = (): void => undefined;
const HOUR = 3_600_000;

const greet = workflow("greet", async (ctx, name: string) => {
  const text = await ctx.step("compose", () => `hello ${name}`);
  return { text };
});

const trial = workflow("trial", async (ctx, email: string) => {
  await ctx.sleep("30 days");
  const answer = await ctx.listen<string>("subscribe", { timeout: "7 days" });
  return answer.timedOut ? `${email} left` : `${email} chose ${answer.value}`;
});

/** A minimal host: executes the workflow whenever the alarm fires, until the run has ended. */
async function untilEnd<Output>(
  driver: MemoryDriver,
  world: VirtualWorld,
  run: () => RunningWorkflow<Output>,
): Promise<unknown> {
  for (let pass = 0; pass < 100; pass += 1) {
    const { state, output, error } = await run().result;
    if (state === "completed") return output;
    if (state === "failed" || state === "cancelled") return error?.message;
    const { alarm } = driver;
    if (alarm === null) throw new Error(`the run is ${state} and no alarm is set`);
    world.clock.set(Math.max(world.now(), alarm.at));
  }
  throw new Error("the run did not end");
}

describe.each(["yield", "live"] as const)("a workflow in a host, %s", (mode) => {
  it("a workflow runs to its end, returns its output and clears the alarm", async () => {
    const driver = memoryDriver();
    const run = runWorkflow("greeting", greet, "ann", driver, { mode });
    const output = { text: "hello ann" };
    expect(await run.result).toEqual({ state: "completed", output, error: null, sleepUntil: null, waitingFor: [] });
    expect(driver.alarm).toBeNull();
    expect([await run.getState(), await run.getOutput()]).toEqual(["completed", output]);
  });

  it("a failed run throws its error and undoes its completed steps", async () => {
    const undone: string[] = [];
    const booking = workflow("booking", async (ctx) => {
      await ctx.step("hotel", () => "h-1", { rollback: (id) => undone.push(id) });
      throw new Error("no flight");
    });
    const { state, error, output } = await runWorkflow("b", booking, undefined, memoryDriver(), { mode, log }).result;
    expect([state, error?.message, output, undone]).toEqual(["failed", "no flight", undefined, ["h-1"]]);
  });

  it("an ended run returns its recorded result and executes nothing", async () => {
    const driver = memoryDriver();
    let runs = 0;
    const once = workflow("once", (ctx) => ctx.step("count", () => ++runs));
    await runWorkflow("run", once, undefined, driver, { mode }).result;
    const before = driver.entries();
    expect(await runWorkflow("run", once, undefined, driver, { mode }).result).toMatchObject({ output: 1 });
    expect([runs, driver.entries()]).toEqual([1, before]);
  });

  it("an existing run keeps its first input", async () => {
    const driver = memoryDriver();
    const echo = workflow("echo", async (ctx, input: string) => {
      await ctx.listen("go");
      return input;
    });
    const first = runWorkflow("run", echo, "first", driver, { mode: "yield" });
    await first.result;
    await first.message("go", null);
    expect(await runWorkflow("run", echo, "second", driver, { mode }).result).toMatchObject({ output: "first" });
  });

  it("children run in the namespace of their parent", async () => {
    const child = workflow("child", (ctx, n: number) => ctx.step("double", () => n * 2));
    const parent = workflow("parent", async (ctx) => {
      const all = await Promise.all([1, 2, 3].map((n) => ctx.child(child, n, { name: `child ${n}` })));
      return all.join();
    });
    const options = { mode, workflows: [child] };
    expect(await runWorkflow("p", parent, undefined, memoryDriver(), options).result).toMatchObject({
      output: "2,4,6",
    });
  });

  it("a waiting run that is cancelled is rolled back at its next execution", async () => {
    const driver = memoryDriver();
    const undone: string[] = [];
    const booking = workflow("booking", async (ctx) => {
      await ctx.step("hotel", () => "h-1", { rollback: (id) => undone.push(id) });
      await ctx.listen("pay");
    });
    const first = runWorkflow("b", booking, undefined, driver, { mode, log });
    if (mode === "yield") await first.result;
    else while ((await first.getState()) !== "suspended") await new Promise((done) => setImmediate(done));
    expect(await first.cancel("ill")).toBe(true);
    const last = mode === "live" ? first : runWorkflow("b", booking, undefined, driver, { mode, log });
    expect([(await last.result).state, undone, driver.alarm]).toEqual(["cancelled", ["h-1"], null]);
    expect(await last.cancel()).toBe(false);
  });

  it("a second runWorkflow on the same driver is rejected", async () => {
    const driver = memoryDriver();
    const first = runWorkflow("run", greet, "ann", driver, { mode });
    await expect(runWorkflow("run", greet, "ann", driver, { mode }).result).rejects.toMatchObject({
      code: "RUN_HOSTED",
    });
    expect((await first.result).state).toBe("completed");
  });

  it("a run of another workflow is rejected and not changed", async () => {
    const driver = memoryDriver();
    await runWorkflow("run", greet, "ann", driver, { mode }).result;
    const before = driver.entries();
    await expect(runWorkflow("run", trial, "ann", driver, { mode }).result).rejects.toMatchObject({
      code: "RUN_EXISTS",
    });
    expect(driver.entries()).toEqual(before);
  });

  it("the result rejects with the storage's error", async () => {
    const driver = { ...through(memoryDriver()), batch: () => Promise.reject(new Error("no disk")) };
    const options = { mode, log, storageRetryPolicy: { maxAttempts: 1 } };
    await expect(runWorkflow("run", greet, "ann", driver, options).result).rejects.toThrow(/no disk/);
  });
});

describe("mode yield", () => {
  it("a sleeping run returns its wake-up time, sets the alarm, and resumes after it", async () => {
    const world = virtualWorld();
    const driver = memoryDriver();
    const at = world.now() + 30 * 24 * HOUR;
    const run = (): RunningWorkflow<string> => runWorkflow("trial", trial, "ann", driver, { world });
    const first = await run().result;
    expect(first).toMatchObject({ state: "suspended", sleepUntil: at, waitingFor: [{ kind: "sleep", until: at }] });
    expect(driver.alarm).toEqual({ runId: "trial", at });
    expect((await run().result).sleepUntil).toBe(at);
    world.clock.set(at);
    const second = run();
    expect(await second.result).toMatchObject({ state: "suspended", sleepUntil: at + 7 * 24 * HOUR });
    expect(await second.message("subscribe", "basic")).toMatchObject({ kind: "delivered" });
    expect(driver.alarm?.at).toBe(world.now());
    expect(await run().result).toMatchObject({ state: "completed", output: "ann chose basic" });
    expect(driver.alarm).toBeNull();
  });

  it("a wait times out when no message arrives", async () => {
    const world = virtualWorld();
    const driver = memoryDriver();
    expect(await untilEnd(driver, world, () => runWorkflow("t", trial, "bob", driver, { world }))).toBe("bob left");
  });

  it("a run is released while a step waits for its next attempt", async () => {
    const world = virtualWorld();
    const driver = memoryDriver();
    const attempts: number[] = [];
    const flaky = workflow("flaky", (ctx) =>
      ctx.step("call", ({ attempt }) => {
        attempts.push(attempt);
        if (attempt < 3) throw new Error("busy");
        return "ok";
      }),
    );
    const run = (): RunningWorkflow<string> => runWorkflow("f", flaky, undefined, driver, { world, log });
    expect((await run().result).sleepUntil).toBeGreaterThan(world.now());
    expect(await untilEnd(driver, world, run)).toBe("ok");
    expect(attempts).toEqual([1, 2, 3]);
  });

  it("an execution without progress writes nothing", async () => {
    const driver = memoryDriver();
    const waits = workflow("waits", async (ctx) => {
      for (let n = 0; n < 20; n += 1) await ctx.step(`step ${n}`, () => n);
      await ctx.listen("go");
    });
    await runWorkflow("w", waits, undefined, driver).result;
    const writes: KvWrite[] = [];
    const recording = { ...through(driver), batch: async (batch: readonly KvWrite[]) => void writes.push(...batch) };
    await runWorkflow("w", waits, undefined, recording).result;
    expect(writes).toEqual([]);
  });

  it("a name is stored once, even if many records use it", async () => {
    const driver = memoryDriver();
    const looping = workflow("looping", async (ctx) => {
      await ctx.loop({
        name: "rounds",
        historyKeep: Number.POSITIVE_INFINITY,
        run: async (c, _, n) => {
          await c.step("a step with a long name", () => n);
          return n === 30 ? Loop.break() : undefined;
        },
      });
      await ctx.step("a step with a long name", () => 1);
    });
    await runWorkflow("l", looping, undefined, driver).result;
    const names = driver.entries().filter(({ key }) => decodeTuple(key)[0] === 1);
    expect(names.map(({ value }) => JSON.parse(new TextDecoder().decode(value)))).toEqual([
      "rounds",
      "a step with a long name",
    ]);
    const copy = runWorkflow("l", looping, undefined, memoryDriver(driver.entries()));
    expect((await copy.result).state).toBe("completed");
  });

  it("wake sets the alarm of a run that is not executed", async () => {
    const world = virtualWorld();
    const driver = memoryDriver();
    const run = runWorkflow("trial", trial, "ann", driver, { world });
    await run.result;
    await run.wake();
    expect(driver.alarm).toEqual({ runId: "trial", at: world.now() });
  });

  it("an event emitted in the namespace reaches a released run", async () => {
    const driver = memoryDriver();
    const waits = workflow("waits", async (ctx) => (await ctx.awaitEvent<string>("news")).value);
    const run = runWorkflow("w", waits, undefined, driver);
    await run.result;
    expect(await run.emit("news", "rain")).toMatchObject({ kind: "delivered" });
    expect(await runWorkflow("w", waits, undefined, driver).result).toMatchObject({ output: "rain" });
  });
});

describe("mode live", () => {
  it("a live run has an alarm while it sleeps and resumes by itself", async () => {
    const world = virtualWorld();
    const driver = memoryDriver();
    const run = runWorkflow("trial", trial, "ann", driver, { mode: "live", world, lease: "60 days" });
    await world.settle();
    expect([await run.getState(), driver.alarm?.at]).toEqual(["suspended", world.now() + 30 * 24 * HOUR]);
    await world.advance("30 days");
    await run.message("subscribe", "basic");
    await world.settle();
    expect(await run.result).toMatchObject({ state: "completed", output: "ann chose basic" });
  });

  it("a message sent before the run starts is received", async () => {
    const echo = workflow("echo", async (ctx) => (await ctx.listen<string>("say")).value);
    const run = runWorkflow("e", echo, undefined, memoryDriver(), { mode: "live" });
    expect((await run.message("say", "hello")).kind).not.toBe("targetNotFound");
    expect((await run.result).output).toBe("hello");
  });

  it("a waiting run that is evicted resumes elsewhere", async () => {
    const world = virtualWorld();
    const driver = memoryDriver();
    const run = runWorkflow("trial", trial, "ann", driver, { mode: "live", world });
    await world.settle();
    await run.evict();
    expect(await run.result).toMatchObject({ state: "suspended", sleepUntil: world.now() + 30 * 24 * HOUR });
    const elsewhere = memoryDriver(driver.entries());
    expect(await untilEnd(elsewhere, world, () => runWorkflow("trial", trial, "", elsewhere, { world }))).toBe(
      "ann left",
    );
  });

  it("a run evicted during a step is due at once and repeats the step", async () => {
    const world = virtualWorld();
    const driver = memoryDriver();
    let runs = 0;
    const long = workflow("long", async (ctx) => {
      await ctx.step("first", () => 1);
      return await ctx.step("wait", () => (++runs === 1 ? new Promise<number>(() => undefined) : runs));
    });
    const run = runWorkflow("l", long, undefined, driver, { mode: "live", world });
    await world.settle();
    await evictNow(run, world);
    const { sleepUntil } = await run.result;
    expect(sleepUntil).toBe(driver.alarm?.at);
    expect(sleepUntil).toBeLessThanOrEqual(world.now());
    expect(await runWorkflow("l", long, undefined, driver, { world }).result).toMatchObject({ output: 2 });
  });

  it("a working run has an alarm one lease ahead, in case its process dies", async () => {
    const world = virtualWorld();
    const driver = memoryDriver();
    const endless = workflow("endless", (ctx) => ctx.step("wait", () => new Promise<void>(() => undefined)));
    const run = runWorkflow("e", endless, undefined, driver, { mode: "live", world, lease: "9 s" });
    await world.settle();
    expect(driver.alarm?.at).toBe(world.now() + 9_000);
    await world.advance("1 min");
    expect((driver.alarm?.at ?? 0) - world.now()).toBeGreaterThan(3_000);
    await evictNow(run, world);
  });
});

/** Evicts a run with a step that never ends. */
async function evictNow(run: RunningWorkflow<unknown>, world: VirtualWorld): Promise<void> {
  const evicted = run.evict({ drainMs: 0 });
  await world.advance("10 s");
  await evicted;
}

/** Returns the driver's methods as an object that can be spread. */
function through(driver: KvDriver): KvDriver {
  return {
    get: (key) => driver.get(key),
    set: (key, value) => driver.set(key, value),
    delete: (key) => driver.delete(key),
    deletePrefix: (prefix) => driver.deletePrefix(prefix),
    list: (prefix) => driver.list(prefix),
    batch: (writes) => driver.batch(writes),
    setAlarm: (runId, at) => driver.setAlarm(runId, at),
    clearAlarm: (runId) => driver.clearAlarm(runId),
  };
}
