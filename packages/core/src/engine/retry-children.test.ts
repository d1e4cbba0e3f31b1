import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Workflows whose step `ship` fails while `broken` is true, and the idempotency keys of the bodies that ran. */
function shipping() {
  const state = { broken: true, keys: [] as string[] };
  const child = workflow("child", async (ctx, name: string) => {
    const charged = await ctx.step("charge", ({ idempotencyKey }) => {
      state.keys.push(idempotencyKey);
      return `${name} charged`;
    });
    return await ctx.step(
      "ship",
      ({ idempotencyKey }) => {
        state.keys.push(idempotencyKey);
        if (state.broken) throw new Error(`no truck for ${name}`);
        return `${charged}, shipped`;
      },
      { retry: false },
    );
  });
  return { state, child };
}

describe.each(TEST_STORES)("engine.retry of a run with children, on the store $name", ({ create }) => {
  it("retry reopens a failed child at its failure, with the same idempotency keys", async () => {
    const cluster = await create(onTestFinished);
    const { state, child } = shipping();
    const parent = workflow("parent", async (ctx) => await ctx.child(child, "a"));
    const engine = await cluster.engine({ workflows: [child, parent] });
    await expect(cluster.finish(await engine.start(parent, undefined, { id: "r" }))).rejects.toThrow("no truck for a");
    expect(state.keys.splice(0)).toEqual(["r//child/charge", "r//child/ship"]);
    // It fails again: the parent receives the second end of the child too.
    expect(await engine.retry("r", { by: "ann" })).toMatchObject({ records: 1, children: [], reopened: ["r//child"] });
    await expect(cluster.finish(engine.run("r"))).rejects.toThrow("no truck for a");
    expect(state.keys.splice(0)).toEqual(["r//child/ship"]);
    state.broken = false;
    await engine.retry("r");
    expect(await cluster.finish(engine.run("r"))).toBe("a charged, shipped");
    expect(state.keys).toEqual(["r//child/ship"]);
    expect(await engine.run("r//child").status()).toBe("completed");
    expect((await engine.list({})).items.map(({ id }) => id).sort()).toEqual(["r", "r//child"]);
  });

  it("retry reopens failed children at every depth", async () => {
    const cluster = await create(onTestFinished);
    const { state, child } = shipping();
    const middle = workflow("middle", async (ctx) => {
      await ctx.step("prepare", ({ idempotencyKey }) => state.keys.push(idempotencyKey));
      return await ctx.child(child, "a");
    });
    const parent = workflow("parent", async (ctx) => await ctx.child(middle, undefined));
    const engine = await cluster.engine({ workflows: [child, middle, parent] });
    await expect(cluster.finish(await engine.start(parent, undefined, { id: "r" }))).rejects.toThrow("no truck for a");
    state.broken = false;
    state.keys.length = 0;
    await engine.retry("r");
    expect(await cluster.finish(engine.run("r"))).toBe("a charged, shipped");
    expect(state.keys).toEqual(["r//middle//child/ship"]);
  });

  it("retry also reopens the children that were cancelled when their sibling failed", async () => {
    const cluster = await create(onTestFinished);
    const { state, child } = shipping();
    const slow = workflow("slow", async (ctx) => {
      await ctx.step("reserve", ({ idempotencyKey }) => state.keys.push(idempotencyKey));
      await ctx.sleep("1 hour");
      return "slow";
    });
    const parent = workflow("parent", async (ctx) => Promise.all([ctx.child(slow, undefined), ctx.child(child, "a")]));
    const engine = await cluster.engine({ workflows: [child, slow, parent] });
    await expect(cluster.finish(await engine.start(parent, undefined, { id: "r" }))).rejects.toThrow("no truck for a");
    await cluster.world.advance("1 s");
    expect(await engine.run("r//slow").status()).toBe("cancelled");
    // The parent fails again, and cancels the reopened sibling again.
    await engine.retry("r");
    await cluster.world.advance("1 s");
    expect(await engine.run("r").status()).toBe("failed");
    expect(await engine.run("r//slow").status()).toBe("cancelled");
    state.broken = false;
    state.keys.length = 0;
    expect((await engine.retry("r")).reopened).toEqual(["r//slow", "r//child"]);
    await cluster.world.advance("1 hour");
    await cluster.world.advance("1 hour");
    expect(await cluster.result(engine.run("r"))).toEqual(["slow", "a charged, shipped"]);
    expect(state.keys).toEqual(["r//child/ship"]);
  });

  it("retry starts a failed child again if its steps were rolled back", async () => {
    const cluster = await create(onTestFinished);
    let broken = true;
    const ran: string[] = [];
    const child = workflow("child", async (ctx) => {
      await ctx.step("book", () => ran.push("book"), { rollback: () => void ran.push("unbook") });
      if (broken) throw new Error("broken");
      return "booked";
    });
    const parent = workflow("parent", async (ctx) => await ctx.child(child, undefined));
    const engine = await cluster.engine({ workflows: [child, parent] });
    await expect(cluster.finish(await engine.start(parent, undefined, { id: "r" }))).rejects.toThrow("broken");
    broken = false;
    expect(await engine.retry("r")).toMatchObject({ children: ["r//child"], reopened: [] });
    expect(await cluster.finish(engine.run("r"))).toBe("booked");
    expect(ran).toEqual(["book", "unbook", "book"]);
  });

  it("retry returns the result of a reopened child that ended before its parent was reopened", async () => {
    const cluster = await create(onTestFinished);
    const { state, child } = shipping();
    const parent = workflow("parent", async (ctx) => await ctx.child(child, "a"));
    const engine = await cluster.engine({ workflows: [child, parent] });
    await expect(cluster.finish(await engine.start(parent, undefined, { id: "r" }))).rejects.toThrow("no truck for a");
    state.broken = false;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const client = await cluster.client({
      through: (store) =>
        intercepted(store, async ({ batch }, proceed) => {
          if (batch.some((each) => each.kind === "control" && each.runId === "r")) await held;
          return await proceed();
        }),
    });
    const retried = client.retry("r");
    await cluster.world.advance("2 s");
    expect(await engine.run("r//child").status()).toBe("completed");
    expect(await engine.run("r").status()).toBe("failed");
    release();
    await retried;
    expect(await cluster.finish(engine.run("r"))).toBe("a charged, shipped");
    expect(state.keys).toEqual(["r//child/charge", "r//child/ship", "r//child/ship"]);
  });

  it("a repeated retry finishes what a crash of the first left, whichever commit it crashed at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const { state, child } = shipping();
      const parent = workflow("parent", async (ctx) => await ctx.child(child, "a"));
      const engine = await cluster.engine({ workflows: [child, parent] });
      await expect(cluster.finish(await engine.start(parent, undefined, { id: "r" }))).rejects.toThrow("no truck");
      state.broken = false;
      const operator = await cluster.engine({ crashAt });
      void operator.retry("r", { id: "again" }).catch(() => undefined);
      await cluster.world.advance("2 s");
      if (cluster.crashed(operator)) await engine.retry("r", { id: "again" });
      expect(await cluster.finish(engine.run("r"))).toBe("a charged, shipped");
      expect(state.keys).toEqual(["r//child/charge", "r//child/ship", "r//child/ship"]);
      return cluster.crashed(operator);
    });
    expect(crashes).toBeGreaterThan(1);
  });
});
