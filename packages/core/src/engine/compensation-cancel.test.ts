import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, rollbackFailures, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Records executed steps as `+name` and rollbacks as `-name`. */
function ledger(): { readonly lines: string[]; readonly step: (ctx: Ctx, name: string) => Promise<string> } {
  const lines: string[] = [];
  const note = (line: string): void => {
    lines.push(line);
  };
  const did = (name: string): string => {
    note(`+${name}`);
    return name;
  };
  return { lines, step: (ctx, name) => ctx.step(name, () => did(name), { rollback: (value) => note(`-${value}`) }) };
}

describe.each(TEST_STORES)("cancel of a run with rollbacks, on the store $name", ({ create }) => {
  it("a cancel stops the program, rolls back completed steps, and ends the run as cancelled", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const trip = workflow("trip", async (ctx) => {
      try {
        await step(ctx, "a");
        await step(ctx, "b");
        await ctx.listen("go");
        await step(ctx, "c");
      } finally {
        lines.push("no finally is run");
      }
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const events: unknown[] = [];
    engine.on("run.compensating", ({ runId, error }) => events.push(["compensating", runId, error?.message]));
    engine.on("rollback", ({ step: undone }) => events.push(["rollback", undone]));
    engine.on("run.compensated", ({ failures }) => events.push(["compensated", failures]));
    engine.on("run.cancelled", ({ runId, error }) => events.push(["cancelled", runId, error?.message]));
    const run = await engine.start(trip, undefined, { id: "r" });
    await cluster.world.settle();
    const result = cluster.failure(run);
    expect(await run.cancel("not wanted")).toBe(true);
    expect(await run.send("go", null)).toMatchObject({ kind: "queued" });
    expect(await result).toMatchObject({ code: "RUN_CANCELLED", cause: { message: "not wanted" } });
    expect(lines).toEqual(["+a", "+b", "-b", "-a"]);
    expect(events).toEqual([
      ["compensating", "r", "not wanted"],
      ["rollback", "b"],
      ["rollback", "a"],
      ["compensated", []],
      ["cancelled", "r", "not wanted"],
    ]);
    const journal = await run.journal();
    expect(journal.map(({ kind, detail }) => [kind, detail]).slice(2)).toEqual([
      ["compensate", "cancelled"],
      ["rollback", null],
      ["rollback", null],
    ]);
    expect(await run.status()).toBe("cancelled");
    expect(await run.cancel()).toBe(false);
  });

  it("a cancel returns at once, and a second cancel returns false and changes nothing", async () => {
    const cluster = await create(onTestFinished);
    let isUp = false;
    const trip = workflow("trip", async (ctx) => {
      const run = (): void => {
        if (!isUp) throw new Error("down");
      };
      await ctx.step("a", () => 1, { rollback: { run, retry: { maxAttempts: 9, initialMs: "1 minute", factor: 1 } } });
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined, { id: "r" });
    await cluster.world.settle();
    expect(await run.cancel("first")).toBe(true);
    expect(await run.status()).toBe("compensating");
    await cluster.world.settle();
    const before = await cluster.dump();
    expect(await run.cancel("second")).toBe(false);
    const again = await engine.submit({ kind: "cancel", runId: "r", opId: "again", reason: null });
    expect(again).toEqual({ kind: "refused", status: "compensating" });
    await cluster.world.settle();
    expect(await cluster.dump()).toBe(before);
    await run.pause();
    expect(await run.cancel("third")).toBe(false);
    expect(await run.status()).toBe("paused");
    isUp = true;
    await run.resume();
    await cluster.world.advance("2 minutes");
    expect(await cluster.failure(run)).toMatchObject({ code: "RUN_CANCELLED", cause: { message: "first" } });
  });

  it("a cancel compensates a run that is paused or that another worker is executing", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    let aborted: unknown = null;
    const trip = workflow("trip", async (ctx) => {
      await step(ctx, "a");
      await ctx.step("long", ({ signal }) => {
        signal.addEventListener("abort", () => {
          aborted = signal.reason;
        });
        return new Promise(() => undefined);
      });
    });
    const first = await cluster.engine({ workflows: [trip] });
    const caller = await cluster.engine();
    const run = await first.start(trip, undefined, { id: "working" });
    await cluster.world.settle();
    const cancelled = caller.cancel("working", "from elsewhere");
    await cluster.world.advance("15 s");
    expect(await cancelled).toBe(true);
    expect(aborted).toMatchObject({ code: "RUN_CANCELLED" });
    expect(await cluster.failure(run)).toMatchObject({ code: "RUN_CANCELLED" });
    const paused = await first.start(trip, undefined, { id: "paused" });
    await cluster.world.settle();
    await paused.pause({ now: true });
    expect(await paused.cancel()).toBe(true);
    expect(await cluster.failure(paused)).toMatchObject({ code: "RUN_CANCELLED" });
    expect(lines).toEqual(["+a", "-a", "+a", "-a"]);
  });

  it("a cancel rolls back each step once, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const { lines, step } = ledger();
      const trip = workflow("trip", async (ctx) => {
        await Promise.all([step(ctx, "a"), step(ctx, "b")]);
        await ctx.listen("never");
      });
      const first = await cluster.engine({ workflows: [trip], crashAt });
      void first.start(trip, undefined, { id: "r" }).catch(() => undefined);
      await cluster.world.settle();
      void first.cancel("r", "why").catch(() => undefined);
      await cluster.world.settle();
      const crashed = cluster.crashed(first);
      const engine = crashed ? await cluster.takeOver(first, { workflows: [trip] }) : first;
      const run = crashed ? await engine.start(trip, undefined, { id: "r" }) : engine.run("r");
      await cluster.world.settle();
      // The cancel may never have reached the store.
      if (crashed) await run.cancel("why");
      await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_CANCELLED", cause: { message: "why" } });
      const kinds = (await run.journal()).map(({ kind, location }) => `${kind} ${location}`);
      expect(kinds).toHaveLength(5);
      expect(kinds.slice(2)).toEqual([
        "compensate ~compensate",
        `rollback ${kinds[1]?.slice(5)}/~rollback`,
        `rollback ${kinds[0]?.slice(5)}/~rollback`,
      ]);
      if (!crashed) expect(lines).toEqual(["+a", "+b", "-b", "-a"]);
      return crashed;
    });
    expect(crashes).toBeGreaterThan(8);
  });

  it("a cancel during the first step either undoes the step or prevents it", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const trip = workflow("trip", async (ctx) => {
      await step(ctx, "a");
      await ctx.listen("never");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    // The cancel is decided on a view from before the step's commit; the guard detects that it is stale.
    const starts = Array.from({ length: 20 }, (_, index) => engine.start(trip, undefined, { id: `r${index}` }));
    const runs = await Promise.all(starts);
    await Promise.all(runs.map((run) => run.cancel()));
    await cluster.world.settle();
    for (const run of runs) {
      const kinds = (await run.journal()).map(({ kind }) => kind);
      expect(["", "step,compensate,rollback"]).toContain(kinds.join());
    }
    expect(lines.filter((line) => line === "-a").length).toBeLessThanOrEqual(20);
  });

  it("a cancelled run reports its failed rollbacks beside the reason", async () => {
    const cluster = await create(onTestFinished);
    const trip = workflow("trip", async (ctx) => {
      const rollback = (): never => {
        throw new Error("stays");
      };
      await ctx.step("a", () => 1, { rollback: { run: rollback, retry: false } });
      await ctx.listen("never");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip, undefined);
    await cluster.world.settle();
    await run.cancel("why");
    const error = await cluster.failure(run);
    expect(error).toMatchObject({ code: "RUN_CANCELLED", cause: { code: "RUN_CANCELLED", message: "why" } });
    expect(rollbackFailures(error)).toMatchObject([{ step: "a", error: { message: "stays" } }]);
  });

  it("a cancel ends a run at once when it has no rollback, or only rollbacks before a checkpoint", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const trip = workflow("trip", async (ctx, checkpoint: boolean) => {
      if (checkpoint) {
        await step(ctx, "a");
        await ctx.rollbackCheckpoint("kept");
      }
      await ctx.listen("never");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    for (const checkpoint of [false, true]) {
      const run = await engine.start(trip, checkpoint);
      await cluster.world.settle();
      expect(await run.cancel()).toBe(true);
      expect(await run.status()).toBe("cancelled");
    }
    expect(lines).toEqual(["+a"]);
  });
});

describe.each(TEST_STORES)("cancel of children with rollbacks, on the store $name", ({ create }) => {
  it("a child cancelled with its parent rolls back once, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const { step } = ledger();
      const inner = workflow("inner", async (ctx) => {
        await step(ctx, "a");
        await ctx.listen("never");
      });
      const outer = workflow("outer", async (ctx) => {
        await ctx.startChild(inner, undefined, { onParentClose: "cancel" });
        await ctx.listen("never");
      });
      const workflows = [inner, outer];
      const first = await cluster.engine({ workflows, crashAt });
      void first.start(outer, undefined, { id: "r" }).catch(() => undefined);
      await cluster.world.settle();
      void first.cancel("r", "why").catch(() => undefined);
      await cluster.world.settle();
      const crashed = cluster.crashed(first);
      const engine = crashed ? await cluster.takeOver(first, { workflows }) : first;
      const run = crashed ? await engine.start(outer, undefined, { id: "r" }) : engine.run("r");
      await cluster.world.settle();
      if (crashed) await run.cancel("why");
      await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      const child = engine.run("r//inner");
      await expect(cluster.finish(child)).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      const kinds = (await child.journal()).map(({ kind }) => kind);
      expect(["", "step,compensate,rollback"]).toContain(kinds.join());
      if (!crashed) expect(kinds).toHaveLength(3);
      return crashed;
    });
    expect(crashes).toBeGreaterThan(8);
  });

  it("open children roll back once when their parent fails, even if they are already compensating", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const inner = workflow("inner", async (ctx, fails: boolean) => {
      await ctx.step("slow", () => 1, {
        rollback: {
          run: (_, { attempt }) => {
            if (attempt < 3) throw new Error("not yet");
            lines.push("-slow");
          },
          retry: { maxAttempts: 3, initialMs: "1 minute", factor: 1, jitter: 0 },
        },
      });
      await step(ctx, "a");
      if (fails) throw new Error("inner");
      await ctx.listen("never");
    });
    const outer = workflow("outer", async (ctx) => {
      const twice = { maxAttempts: 2, initialMs: "10 s", jitter: 0 } as const;
      const run = (_: unknown, { attempt }: { attempt: number }): void => {
        if (attempt === 1) throw new Error("not yet");
      };
      await ctx.step("own", () => 1, { rollback: { run, retry: twice } });
      await ctx.startChild(inner, true, { name: "failing", onParentClose: "cancel" });
      await ctx.startChild(inner, false, { name: "waiting", onParentClose: "cancel" });
      await ctx.sleep("30 s");
      throw new Error("outer");
    });
    const engine = await cluster.engine({ workflows: [inner, outer] });
    const run = await engine.start(outer, undefined, { id: "r" });
    await cluster.world.settle();
    expect(await engine.run("r//failing").status()).toBe("compensating");
    await cluster.world.advance("30 s");
    // The children are closed when the parent starts compensating, not when it has ended.
    expect(await run.status()).toBe("compensating");
    expect(await engine.run("r//waiting").status()).toBe("compensating");
    expect((await engine.explain("r")).sentence).toContain("waiting for child");
    await cluster.world.advance("3 minutes");
    // The parent ends after its children, so that its end includes their rollbacks.
    expect(await cluster.failure(run)).toMatchObject({ cause: { message: "outer" } });
    expect(await cluster.failure(engine.run("r//failing"))).toMatchObject({ code: "RUN_FAILED" });
    expect(await cluster.failure(engine.run("r//waiting"))).toMatchObject({ code: "RUN_CANCELLED" });
    expect([...lines].sort()).toEqual(["+a", "+a", "-a", "-a", "-slow", "-slow"]);
  });
});

describe.each(TEST_STORES)("terminate, on the store $name", ({ create }) => {
  it("a terminate ends a run at once without a rollback, and aborts its step body", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const aborts: unknown[] = [];
    const trip = workflow("trip", async (ctx) => {
      await step(ctx, "a");
      await ctx.step(
        "hangs",
        ({ signal }) => new Promise(() => signal.addEventListener("abort", () => aborts.push(1))),
      );
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const events: unknown[] = [];
    engine.on("run.compensating", ({ runId }) => events.push(["compensating", runId]));
    engine.on("run.cancelled", ({ runId, error }) => events.push(["cancelled", runId, error?.message]));
    const run = await engine.start(trip, undefined, { id: "r" });
    await cluster.world.settle();
    const result = cluster.failure(run);
    expect(await run.terminate("enough")).toBe(true);
    expect(await result).toMatchObject({
      code: "RUN_CANCELLED",
      cause: { code: "RUN_TERMINATED", message: "enough" },
    });
    await cluster.world.advance("10 s");
    expect(lines).toEqual(["+a"]);
    expect(aborts).toHaveLength(1);
    expect(events).toEqual([["cancelled", "r", "enough"]]);
    expect(await run.terminate()).toBe(false);
    expect(await engine.get("r")).toMatchObject({ status: "cancelled", owner: null, wakeAt: null });
    await expect(engine.terminate("none")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });

  it("a terminate ends a compensating run, and its other rollbacks do not run", async () => {
    const cluster = await create(onTestFinished);
    const undone: string[] = [];
    const trip = workflow("trip", async (ctx) => {
      await ctx.step("a", () => "a", { rollback: (value) => void undone.push(value) });
      await ctx.step("b", () => "b", {
        rollback: { run: () => Promise.reject(new Error("down")), retry: { maxAttempts: 9, initialMs: "1 hour" } },
      });
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip);
    await cluster.world.settle();
    await run.cancel();
    await cluster.world.settle();
    expect(await run.status()).toBe("compensating");
    const client = await cluster.client();
    expect(await client.terminate(run.id)).toBe(true);
    await cluster.world.advance("3 hours");
    expect(await run.status()).toBe("cancelled");
    expect(undone).toEqual([]);
  });

  it("a terminate of a child fails its parent, and a terminate of a parent cancels its child with rollback", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const child = workflow("child", async (ctx) => {
      await step(ctx, "room");
      await ctx.listen("never");
    });
    const parent = workflow("parent", async (ctx) => ctx.child(child, undefined, { name: "c" }));
    const engine = await cluster.engine({ workflows: [child, parent] });
    const first = await engine.start(parent, undefined, { id: "p1" });
    const second = await engine.start(parent, undefined, { id: "p2" });
    await cluster.world.settle();
    await engine.terminate("p1//c", "by hand");
    expect(await cluster.failure(first)).toMatchObject({ cause: { code: "CHILD_FAILED" } });
    expect(lines).toEqual(["+room", "+room"]);
    await second.terminate();
    await cluster.world.advance("5 s");
    expect(await engine.run("p2//c").status()).toBe("cancelled");
    expect(lines).toEqual(["+room", "+room", "-room"]);
  });

  it("a terminated run continues from where it was after a rewind, and can still be rolled back", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const trip = workflow("trip", async (ctx) => {
      await step(ctx, "a");
      await ctx.listen("go");
      await step(ctx, "b");
    });
    const engine = await cluster.engine({ workflows: [trip] });
    const run = await engine.start(trip);
    await cluster.world.settle();
    await run.terminate();
    await run.rewind("a");
    await cluster.world.settle();
    await run.cancel();
    await cluster.world.settle();
    expect(await run.status()).toBe("cancelled");
    expect(lines.at(-1)).toBe("-a");
  });
});
