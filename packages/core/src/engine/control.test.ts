import { describe, expect, it, onTestFinished } from "vitest";
import { type PawlError, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const waits = workflow("waits", async (ctx) => (await ctx.listen("go")).value);
const quick = workflow("quick", async () => "done");

describe.each(TEST_STORES)("cancel, on the store $name", ({ create }) => {
  it("a cancel ends a suspended run with the given reason", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    expect(await run.cancel("the customer left")).toBe(true);
    const error = await cluster.failure(run);
    expect(error).toMatchObject({
      code: "RUN_CANCELLED",
      cause: { code: "RUN_CANCELLED", message: "the customer left" },
    });
    expect(await engine.get(run.id)).toMatchObject({
      status: "cancelled",
      error: { message: "the customer left" },
      wait: null,
    });
  });

  it("a cancel aborts the signals of the step body and of ctx, and drops a result after the grace", async () => {
    const cluster = await create(onTestFinished);
    const aborts: string[] = [];
    const bodies: Array<(value: string) => void> = [];
    const working = workflow("working", async (ctx) => {
      ctx.signal.addEventListener("abort", () => aborts.push(`ctx: ${(ctx.signal.reason as PawlError).code}`));
      return await ctx.step("work", ({ signal }) => {
        signal.addEventListener("abort", () => aborts.push(`step: ${(signal.reason as PawlError).code}`));
        return new Promise<string>((resolve) => bodies.push(resolve));
      });
    });
    const engine = await cluster.engine({ workflows: [working] });
    const run = await engine.start(working, undefined);
    await cluster.world.settle();
    const cancelled = run.cancel("stop");
    await cluster.world.advance("10 s");
    expect(await cancelled).toBe(true);
    expect([...aborts].sort()).toEqual(["ctx: RUN_CANCELLED", "step: RUN_CANCELLED"]);
    bodies[0]!("late");
    await cluster.world.settle();
    expect(await run.status()).toBe("cancelled");
    expect(await run.journal()).toEqual([]);
  });

  it("a cancel works from a process that is not executing the run", async () => {
    const cluster = await create(onTestFinished);
    const aborts: unknown[] = [];
    const working = workflow("working", async (ctx) =>
      ctx.step("work", ({ signal }) => {
        signal.addEventListener("abort", () => aborts.push(signal.reason));
        return new Promise(() => {});
      }),
    );
    const worker = await cluster.engine({ workflows: [working] });
    const client = await cluster.engine();
    const run = await worker.start(working, undefined);
    await cluster.world.settle();
    const cancelled = client.cancel(run.id);
    await cluster.world.advance("3 s");
    expect([await run.status(), aborts.length]).toEqual(["running", 1]);
    await cluster.world.advance("10 s");
    expect([await cancelled, await run.status()]).toEqual([true, "cancelled"]);
    expect(aborts).toHaveLength(1);
    expect(await cluster.failure(run)).toMatchObject({ code: "RUN_CANCELLED" });
  });

  it("a cancel ends a run that has not started", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.engine();
    const run = await client.start(quick, undefined);
    expect(await run.cancel()).toBe(true);
    await cluster.engine({ workflows: [quick] });
    await cluster.world.advance("5 s");
    expect(await run.status()).toBe("cancelled");
  });

  it("a cancel of an ended run returns false, and a cancel of a missing run rejects with RUN_NOT_FOUND", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [quick] });
    const run = await engine.start(quick, undefined);
    await cluster.result(run);
    expect(await run.cancel()).toBe(false);
    expect(await run.status()).toBe("completed");
    await expect(engine.cancel("none")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });

  it("a run whose cancel races with its completion ends in exactly one of the two", async () => {
    const ends = new Set<string>();
    for (let turns = 0; turns < 12; turns += 1) {
      const cluster = await create(onTestFinished);
      const engine = await cluster.engine({ workflows: [waits] });
      const run = await engine.start(waits, undefined);
      await cluster.world.settle();
      const events: string[] = [];
      for (const kind of ["run.completed", "run.cancelled"] as const)
        engine.on(kind, (event) => events.push(event.kind));
      const sent = run.send("go", "now");
      for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
      const cancelled = await run.cancel();
      await sent;
      await cluster.world.settle();
      const status = await run.status();
      expect(status).toBe(cancelled ? "cancelled" : "completed");
      expect(events).toEqual([`run.${status}`]);
      ends.add(status);
    }
    expect(ends).toEqual(new Set(["cancelled", "completed"]));
  });

  it("a cancelled run leaves no wait, timer or subscription behind", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({
      workflows: [workflow("both", async (ctx) => ctx.select({ e: { event: "e" }, t: { after: "1 minute" } }))],
    });
    const run = await engine.start(
      workflow("both", async () => 1),
      undefined,
    );
    await cluster.world.settle();
    await run.cancel();
    expect(await engine.emit("e", 1, { deliver: "afterWait" })).toEqual({ kind: "dropped" });
    await cluster.world.advance("2 minutes");
    expect(await run.status()).toBe("cancelled");
    expect(await engine.get(run.id)).toMatchObject({ wakeAt: null, wait: null, owner: null });
  });
});

describe.each(TEST_STORES)("pause, on the store $name", ({ create }) => {
  it("a paused run stays stopped until it is resumed, and keeps messages that arrive meanwhile", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const long = workflow("long", async (ctx) => {
      await ctx.step("a", () => void ran.push("a"));
      const got = await ctx.listen("go");
      await ctx.step("b", () => void ran.push("b"));
      return got.value;
    });
    const engine = await cluster.engine({ workflows: [long] });
    const run = await engine.start(long, undefined);
    await cluster.world.settle();
    await run.pause("for maintenance");
    expect(await engine.get(run.id)).toMatchObject({
      status: "paused",
      error: { code: "RUN_PAUSED", message: "for maintenance" },
    });
    expect(await run.send("go", 1)).toMatchObject({ kind: "queued" });
    await cluster.world.advance("1 minute");
    expect(ran).toEqual(["a"]);
    await run.resume();
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe(1);
    expect(ran).toEqual(["a", "b"]);
    expect(await engine.get(run.id)).toMatchObject({ error: null });
  });

  it("a pause with now aborts the running step body, which is executed again after the resume", async () => {
    const cluster = await create(onTestFinished);
    let aborted = 0;
    let calls = 0;
    const working = workflow("working", async (ctx) =>
      ctx.step("work", ({ signal }) => {
        calls += 1;
        signal.addEventListener("abort", () => {
          aborted += 1;
        });
        return calls === 1 ? new Promise<string>(() => {}) : "done";
      }),
    );
    const engine = await cluster.engine({ workflows: [working] });
    const run = await engine.start(working, undefined);
    await cluster.world.settle();
    await run.pause({ now: true });
    expect(aborted).toBe(1);
    await run.resume();
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe("done");
    expect(calls).toBe(2);
  });

  it("a sleep whose end passed during a pause ends when the run is resumed", async () => {
    const cluster = await create(onTestFinished);
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleep("10 s");
      return "awake";
    });
    const engine = await cluster.engine({ workflows: [nap] });
    const run = await engine.start(nap, undefined);
    await cluster.world.settle();
    await run.pause();
    await cluster.world.advance("1 minute");
    expect(await run.status()).toBe("paused");
    await run.resume();
    expect(await cluster.result(run)).toBe("awake");
  });

  it("a paused run receives no event; another waiting run does", async () => {
    const cluster = await create(onTestFinished);
    const receiver = workflow("receiver", async (ctx) => (await ctx.awaitEvent("e")).value);
    const engine = await cluster.engine({ workflows: [receiver] });
    const paused = await engine.start(receiver, undefined);
    await cluster.world.advance(1);
    const other = await engine.start(receiver, undefined);
    await cluster.world.settle();
    await paused.pause();
    await engine.emit("e", 1);
    expect(await cluster.result(other)).toBe(1);
    await paused.resume();
    await cluster.world.advance("2 s");
    expect(await paused.status()).toBe("suspended");
    await engine.emit("e", 2);
    expect(await cluster.result(paused)).toBe(2);
  });

  it("a pause can be repeated, a paused run can be cancelled, and invalid pauses and resumes are rejected", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits, quick] });
    const run = await engine.start(waits, undefined);
    await cluster.world.settle();
    await run.pause();
    await run.pause();
    expect(await run.status()).toBe("paused");
    expect(await run.cancel()).toBe(true);
    await expect(run.resume()).rejects.toMatchObject({ code: "RUN_ENDED" });
    await expect(run.pause()).rejects.toMatchObject({ code: "RUN_ENDED" });
    const other = await engine.start(waits, undefined);
    await cluster.world.settle();
    await expect(other.resume()).rejects.toMatchObject({ code: "RUN_NOT_PAUSED" });
    await expect(engine.pause("none")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await expect(engine.resume("none")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });

  it("a paused run stays paused after a takeover by another worker", async () => {
    const cluster = await create(onTestFinished);
    const first = await cluster.engine({ workflows: [waits] });
    const run = await first.start(waits, undefined);
    await cluster.world.settle();
    await run.pause();
    await run.send("go", 5);
    const second = await cluster.takeOver(first, { workflows: [waits] });
    await cluster.world.advance("1 minute");
    expect(await second.run(run.id).status()).toBe("paused");
    await second.resume(run.id);
    await cluster.world.advance("2 s");
    expect(await cluster.result(second.run(run.id))).toBe(5);
  });
});
