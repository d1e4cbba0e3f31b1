import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** A resource whose first acquire succeeds at once. Later acquires wait for `let`. */
function slowAgain() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let count = 0;
  const acquire = async (): Promise<string> => {
    count += 1;
    if (count > 1) await opened;
    return "held";
  };
  return { how: { acquire, release: () => undefined }, let: () => open() };
}

function undoable(ctx: Ctx, undone: Set<string>): Promise<string> {
  return ctx.step("done", () => ctx.runId, { rollback: (runId) => void undone.add(runId) });
}

describe.each(TEST_STORES)("compensation with resources, on the store $name", ({ create }) => {
  it("a compensating run waits for its child's compensation, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const undone = new Set<string>();
      const resource = slowAgain();
      const inner = workflow("inner", (ctx) => undoable(ctx, undone));
      const outer = workflow("outer", async (ctx) => {
        await ctx.child(inner, undefined);
        await ctx.resource("held", resource.how);
        throw new Error("no");
      });
      const workflows = [inner, outer];
      const first = await cluster.engine({ workflows, crashAt });
      void first.start(outer, undefined, { id: "r" }).catch(() => undefined);
      await cluster.world.advance("2 s");
      const early = cluster.crashed(first);
      resource.let();
      if (!early) await cluster.world.settle();
      const crashed = cluster.crashed(first);
      const engine = crashed ? await cluster.takeOver(first, { workflows }) : first;
      const run = crashed ? await engine.start(outer, undefined, { id: "r" }) : engine.run("r");
      await expect(cluster.finish(run)).rejects.toMatchObject({ cause: { message: "no" } });
      expect([...undone]).toEqual(["r//inner"]);
      return crashed;
    });
    expect(crashes).toBeGreaterThan(10);
  });

  it("a child is cancelled with its parent while it acquires a resource, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const undone = new Set<string>();
      const resource = slowAgain();
      const inner = workflow("inner", async (ctx) => {
        await ctx.resource("held", resource.how);
        await undoable(ctx, undone);
        await ctx.listen("never");
      });
      const outer = workflow("outer", async (ctx) => {
        await ctx.startChild(inner, undefined, { onParentClose: "cancel" });
        await ctx.sleep("1 s");
      });
      const workflows = [inner, outer];
      const first = await cluster.engine({ workflows, crashAt });
      void first.start(outer, undefined, { id: "r" }).catch(() => undefined);
      await cluster.world.advance("2 s");
      const early = cluster.crashed(first);
      resource.let();
      if (!early) await cluster.world.settle();
      const crashed = cluster.crashed(first);
      const engine = crashed ? await cluster.takeOver(first, { workflows }) : first;
      const run = crashed ? await engine.start(outer, undefined, { id: "r" }) : engine.run("r");
      await cluster.finish(run);
      await expect(cluster.finish(engine.run("r//inner"))).rejects.toMatchObject({ code: "RUN_CANCELLED" });
      const did = (await engine.run("r//inner").journal()).filter(({ kind }) => kind === "step");
      expect([...undone]).toEqual(did.map(() => "r//inner"));
      return crashed;
    });
    expect(crashes).toBeGreaterThan(10);
  });
});
