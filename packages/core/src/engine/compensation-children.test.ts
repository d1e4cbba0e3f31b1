import { describe, expect, it, onTestFinished } from "vitest";
import { CriticalError, type Ctx, rollbackFailures, workflow } from "../index.ts";
import { nodeEventLoop, turnEnd } from "../runtime/event-loop.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Records executed steps as `+name` and rollbacks as `-name`. */
function ledger(): { readonly lines: string[]; readonly step: (ctx: Ctx, name: string) => Promise<string> } {
  const lines: string[] = [];
  const did = (name: string): string => {
    lines.push(`+${name}`);
    return name;
  };
  const undid = (name: string): void => {
    lines.push(`-${name}`);
  };
  return { lines, step: (ctx, name) => ctx.step(name, () => did(name), { rollback: undid }) };
}

describe.each(TEST_STORES)("compensation of completed children, on the store $name", ({ create }) => {
  it("a failing parent rolls back its completed child, and that child's own child, in reverse order", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const low = workflow("low", async (ctx) => [await step(ctx, "low")]);
    const mid = workflow("mid", async (ctx) => {
      await step(ctx, "mid 1");
      await ctx.child(low, undefined);
      await step(ctx, "mid 2");
      return "mid";
    });
    const top = workflow("top", async (ctx) => {
      await step(ctx, "top 1");
      await ctx.child(mid, undefined);
      await step(ctx, "top 2");
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [low, mid, top] });
    const run = await engine.start(top, undefined, { id: "r" });
    const error = await cluster.failure(run);
    expect(error).toMatchObject({ code: "RUN_FAILED", cause: { message: "no" } });
    expect(rollbackFailures(error)).toEqual([]);
    expect(lines).toEqual([
      ...["+top 1", "+mid 1", "+low", "+mid 2", "+top 2"],
      ...["-top 2", "-mid 2", "-low", "-mid 1", "-top 1"],
    ]);
    expect((await run.journal()).slice(4).map(({ kind, location }) => `${kind} ${location}`)).toEqual([
      "compensate ~compensate",
      "rollback top 2/~rollback",
      "spawn mid/~rollback/~start",
      "rollback mid/~rollback",
      "rollback top 1/~rollback",
    ]);
    // The child stays completed: a separate run rolled it back.
    expect(await engine.run("r//mid").status()).toBe("completed");
    expect(await engine.run("r//mid//~undo").status()).toBe("cancelled");
    expect(await engine.run("r//mid//low//~undo").status()).toBe("cancelled");
  });

  it("a cancelled parent rolls back its completed child, even if it has no rollbacks itself", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const inner = workflow("inner", async (ctx) => void (await step(ctx, "a")));
    const outer = workflow("outer", async (ctx, how: "child" | "select") => {
      if (how === "child") await ctx.child(inner, undefined);
      else await ctx.select({ inner: { child: await ctx.startChild(inner, undefined) }, late: { after: "1 hour" } });
      await ctx.listen("never");
    });
    const engine = await cluster.engine({ workflows: [inner, outer] });
    for (const how of ["child", "select"] as const) {
      const run = await engine.start(outer, how);
      await cluster.world.settle();
      expect(await engine.get(run.id)).toMatchObject({ undo: "some" });
      expect(await run.cancel()).toBe(true);
      expect(await cluster.failure(run)).toMatchObject({ code: "RUN_CANCELLED" });
    }
    expect(lines).toEqual(["+a", "-a", "+a", "-a"]);
  });

  it("no undo run is started for a child without rollbacks, or with a checkpoint after them", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const inner = workflow("inner", async (ctx) => await ctx.step("plain", () => 1));
    const kept = workflow("kept", async (ctx) => {
      await step(ctx, "kept");
      await ctx.rollbackCheckpoint("stays");
    });
    const outer = workflow("outer", async (ctx) => {
      await step(ctx, "a");
      await ctx.child(inner, undefined);
      await ctx.child(kept, undefined);
      await ctx.select({ inner: { child: await ctx.startChild(inner, undefined) } });
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [inner, kept, outer] });
    const run = await engine.start(outer, undefined, { id: "r" });
    await cluster.failure(run);
    expect(lines).toEqual(["+a", "+kept", "-a"]);
    expect((await engine.list()).items.map(({ id }) => id).sort()).toEqual(["r", "r//inner", "r//inner#2", "r//kept"]);
  });

  it("a child's failed rollbacks are reported with the parent's failure, by step", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const inner = workflow("inner", async (ctx) => {
      await step(ctx, "fine");
      const run = (): never => {
        throw new Error("stays");
      };
      await ctx.step("stuck", () => 1, { rollback: { run, retry: false } });
    });
    const outer = workflow("outer", async (ctx) => {
      await step(ctx, "a");
      await ctx.child(inner, undefined);
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [inner, outer] });
    const error = await cluster.failure(await engine.start(outer, undefined));
    const [failure, ...others] = rollbackFailures(error);
    expect(others).toEqual([]);
    expect(failure).toMatchObject({ step: "inner", error: { code: "CHILD_FAILED" } });
    expect(rollbackFailures(failure?.error)).toMatchObject([{ step: "stuck", error: { message: "stays" } }]);
    expect(lines).toEqual(["+a", "+fine", "-fine", "-a"]);
  });

  it("a child's rollback sees the same time, ids and random numbers as the child did", async () => {
    const cluster = await create(onTestFinished);
    const seen: unknown[] = [];
    const inner = workflow("inner", async (ctx, round: number) => {
      if (round === 0) return await ctx.continueAs(1);
      const facts = [ctx.now(), ctx.random(), ctx.uuid()];
      const name = `step ${ctx.uuid()}`;
      await ctx.sleep("1 minute");
      await ctx.step(name, () => 1, { rollback: () => void seen.push(facts) });
      seen.push(facts);
    });
    const outer = workflow("outer", async (ctx) => {
      await ctx.child(inner, 0);
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [inner, outer] });
    const run = await engine.start(outer, undefined);
    await cluster.world.advance("2 minutes");
    expect(rollbackFailures(await cluster.failure(run))).toEqual([]);
    expect(seen).toHaveLength(3);
    expect(new Set(seen.map((facts) => JSON.stringify(facts))).size).toBe(1);
  });

  it("a child is rolled back once, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const { lines, step } = ledger();
      const inner = workflow("inner", async (ctx) => void (await step(ctx, "b")));
      const outer = workflow("outer", async (ctx) => {
        await step(ctx, "a");
        await ctx.child(inner, undefined);
        throw new Error("no");
      });
      const workflows = [inner, outer];
      const first = await cluster.engine({ workflows, crashAt });
      void first.start(outer, undefined, { id: "r" }).catch(() => undefined);
      await cluster.world.settle();
      const crashed = cluster.crashed(first);
      const engine = crashed ? await cluster.takeOver(first, { workflows }) : first;
      const run = crashed ? await engine.start(outer, undefined, { id: "r" }) : engine.run("r");
      await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED", cause: { message: "no" } });
      expect((await run.journal()).slice(3).map(({ kind, location }) => `${kind} ${location}`)).toEqual([
        "compensate ~compensate",
        "spawn inner/~rollback/~start",
        "rollback inner/~rollback",
        "rollback a/~rollback",
      ]);
      expect((await engine.run("r//inner//~undo").journal()).map(({ kind }) => kind)).toEqual([
        "operator",
        "step",
        "compensate",
        "rollback",
      ]);
      if (!crashed) expect(lines).toEqual(["+a", "+b", "-b", "-a"]);
      return crashed;
    });
    expect(crashes).toBeGreaterThan(10);
  });

  it("a child shared by a run and its fork is rolled back once", async () => {
    const cluster = await create(onTestFinished);
    const { lines, step } = ledger();
    const inner = workflow("inner", (ctx) => step(ctx, "inner"));
    const outer = workflow("outer", async (ctx) => {
      await ctx.child(inner, undefined);
      await ctx.step("checked", () => 1);
      await ctx.listen("go");
      throw new Error("no");
    });
    const engine = await cluster.engine({ workflows: [inner, outer] });
    const run = await engine.start(outer, undefined, { id: "r" });
    await cluster.world.settle();
    const fork = await engine.fork("r", "checked", { id: "f" });
    await run.send("go", 1);
    await cluster.failure(run);
    expect(lines).toEqual(["+inner", "-inner"]);
    await fork.send("go", 1);
    expect(await cluster.failure(fork)).toMatchObject({ cause: { message: "no" } });
    expect(lines).toEqual(["+inner", "-inner"]);
    const undoRecords = (await fork.journal()).filter(({ kind }) => kind === "spawn" || kind === "rollback");
    expect(undoRecords.map(({ location }) => location)).toEqual(["inner", "inner/~rollback/~start"]);
  });
});

describe.each(TEST_STORES)(
  "compensation of children whose end the parent has not received, on the store $name",
  ({ create }) => {
    it("every payment of a child is refunded when a sibling step fails the parent, in every order of their ends", async () => {
      const cluster = await create(onTestFinished);
      const { lines, step } = ledger();
      const turns = async (count: number): Promise<void> => {
        for (let turn = 0; turn < count; turn += 1) await turnEnd(nodeEventLoop());
      };
      const pays = workflow("pays", async (ctx, delay: number) => {
        await ctx.step("prepare", () => turns(delay));
        return await step(ctx, `pay ${ctx.runId}`);
      });
      const buys = workflow(
        "buys",
        async (ctx, { childDelay, failDelay }: { childDelay: number; failDelay: number }) => {
          await Promise.all([
            ctx.child(pays, childDelay),
            ctx.step("fail", async () => {
              await turns(failDelay);
              throw new CriticalError("no");
            }),
          ]);
        },
      );
      const engine = await cluster.engine({ workflows: [pays, buys] });
      const runs = [];
      for (let childDelay = 0; childDelay < 6; childDelay += 1)
        for (let failDelay = 0; failDelay < 24; failDelay += 1)
          runs.push(await engine.start(buys, { childDelay, failDelay }, { id: `r-${childDelay}-${failDelay}` }));
      for (const run of runs) await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_FAILED" });
      const paid = lines.filter((line) => line.startsWith("+")).map((line) => line.slice(1));
      const refunded = lines.filter((line) => line.startsWith("-")).map((line) => line.slice(1));
      expect(paid.length).toBeGreaterThan(0);
      expect(refunded.sort()).toEqual(paid.sort());
    });

    it("a child that completed while its parent had no worker is rolled back when the parent is cancelled", async () => {
      const cluster = await create(onTestFinished);
      const { lines, step } = ledger();
      const inner = workflow("inner", async (ctx) => {
        await ctx.listen("go");
        await step(ctx, "pay");
      });
      const outer = workflow("outer", async (ctx) => void (await ctx.child(inner, undefined)));
      const parents = await cluster.engine({ workflows: [outer] });
      const children = await cluster.engine({ workflows: [inner] });
      await parents.start(outer, undefined, { id: "r" });
      await cluster.world.settle();
      await parents.shutdown();
      await children.send("r//inner", "go", null);
      await cluster.finish(children.run("r//inner"));
      expect(await children.cancel("r")).toBe(true);
      const later = await cluster.engine({ workflows: [outer] });
      await expect(cluster.finish(later.run("r"))).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      expect(lines).toEqual(["+pay", "-pay"]);
    });

    it("a child that completes although its parent was cancelled is rolled back", async () => {
      const cluster = await create(onTestFinished);
      const { lines, step } = ledger();
      let finishStep = (): void => {};
      const inner = workflow("inner", async (ctx) => {
        await step(ctx, "pay");
        await ctx.step("hold", () => new Promise<void>((resolve) => (finishStep = resolve)));
      });
      const outer = workflow("outer", async (ctx) => void (await ctx.child(inner, undefined)));
      const parents = await cluster.engine({ workflows: [outer], poll: "1 s" });
      // This worker receives no hints and polls rarely, so it commits the end before it reads the cancel.
      const children = await cluster.engine({ workflows: [inner], poll: "1 hour", lease: "3 hours" });
      const run = await parents.start(outer, undefined, { id: "r" });
      await cluster.world.advance("1 hour");
      await run.cancel();
      finishStep();
      await expect(cluster.finish(run)).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      expect(lines).toEqual(["+pay", "-pay"]);
      expect(await children.run("r//inner").status()).not.toBe("suspended");
    });
  },
);
