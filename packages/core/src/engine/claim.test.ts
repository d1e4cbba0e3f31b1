import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

describe.each(TEST_STORES)("claiming, on the store $name", ({ create }) => {
  it("a run is claimed again after a lost claim reply, even if an old session of it is suspended here", async () => {
    const cluster = await create(onTestFinished);
    const undone: string[] = [];
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => 1, { rollback: () => void undone.push("charge") });
      await ctx.listen("approve");
    });
    let isLost = false;
    const losesClaimReply = (store: Store): Store =>
      intercepted(store, async (call, proceed) => {
        const answer = await proceed();
        if (!isLost || call.method !== "claim" || !Array.isArray(answer) || answer.length === 0) return answer;
        isLost = false;
        throw new StoreError("STORE_UNAVAILABLE", "unknown", "broke before the answer");
      });
    const engine = await cluster.engine({ workflows: [order], through: losesClaimReply });
    const client = await cluster.engine();
    await engine.start(order, undefined, { id: "o-1" });
    await cluster.world.settle();
    isLost = true;
    const cancelled = client.cancel("o-1");
    await cluster.world.advance("10 s");
    expect(await cancelled).toBe(true);
    expect(isLost).toBe(false);
    expect(undone).toEqual(["charge"]);
    expect(await client.run("o-1").status()).toBe("cancelled");
  });

  it("a worker claims nothing before its first heartbeat is acknowledged, even if hints arrive", async () => {
    const cluster = await create(onTestFinished);
    const order = workflow("order", async (ctx) => await ctx.step("charge", () => 1));
    const client = await cluster.engine();
    await client.start(order, undefined, { id: "o-1" });
    const calls: string[] = [];
    let acknowledge: (() => void) | null = null;
    const slow = (store: Store): Store => ({
      ...intercepted(store, async ({ method }, proceed) => {
        if (method === "heartbeat" && acknowledge === null)
          await new Promise<void>((resolve) => (acknowledge = resolve));
        calls.push(method);
        return await proceed();
      }),
      watch(listener) {
        listener({ runIds: null });
        return () => undefined;
      },
    });
    const opened = cluster.engine({ workflows: [order], through: slow });
    await cluster.world.settle();
    expect(calls).not.toContain("claim");
    (acknowledge as (() => void) | null)?.();
    await opened;
    expect(await cluster.result(client.run("o-1"))).toBe(1);
  });

  it("when createEngine fails, the store is closed and its runs stay claimable", async () => {
    const cluster = await create(onTestFinished);
    const order = workflow("order", async () => "done");
    const calls: string[] = [];
    const unreachable = (store: Store): Store =>
      intercepted(store, async (call, proceed) => {
        calls.push(call.method);
        if (call.method === "heartbeat") throw new StoreError("STORE_UNAVAILABLE", "unknown", "not there");
        return await proceed();
      });
    const client = await cluster.engine();
    const failed = cluster.engine({ workflows: [order], through: unreachable }).catch((error: unknown) => error);
    await cluster.world.advance("1 hour");
    expect(await failed).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(calls.at(-1)).toBe("close");
    await client.start(order, undefined, { id: "o-1" });
    await cluster.world.advance("10 s");
    expect(calls.at(-1)).toBe("close");
    expect(await client.run("o-1").status()).toBe("pending");
  });

  it("a run that ended before its start was acknowledged is not executed again", async () => {
    const cluster = await create(onTestFinished);
    const executed: string[] = [];
    const order = workflow("order", async (ctx) => ctx.step("charge", () => void executed.push(ctx.runId)));
    let answer = (): void => undefined;
    const replyReleased = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const slow = (store: Store): Store =>
      intercepted(store, async ({ batch }, proceed) => {
        const done = await proceed();
        if (batch.some(({ kind }) => kind === "create")) await replyReleased;
        return done;
      });
    const engine = await cluster.engine({ workflows: [order], storageTimeout: "1 hour", through: slow });
    const client = await cluster.engine();
    const started = engine.start(order, undefined, { id: "o-1" });
    await cluster.world.advance("5 s");
    expect(executed).toEqual(["o-1"]);
    const cancelled = client.cancel("o-1");
    // The owner is alive, and does not stop the run.
    await cluster.world.advance("15 s");
    expect(await cancelled).toBe(true);
    answer();
    await started;
    await cluster.world.advance("5 s");
    expect(executed).toEqual(["o-1"]);
    expect(await client.run("o-1").status()).toBe("cancelled");
  });

  it("a worker whose lease may have expired sends a heartbeat before it claims", async () => {
    const cluster = await create(onTestFinished);
    const order = workflow("order", async (ctx) => await ctx.step("charge", () => 1));
    const calls: string[] = [];
    let keep: Array<() => void> | null = null;
    const hints: Array<() => void> = [];
    const slow = (store: Store): Store => ({
      ...intercepted(store, async ({ method }, proceed) => {
        if (method === "heartbeat" && keep !== null) await new Promise<void>((resolve) => keep?.push(resolve));
        calls.push(method);
        return await proceed();
      }),
      watch(listener) {
        hints.push(() => listener({ runIds: null }));
        return () => undefined;
      },
    });
    await cluster.engine({ workflows: [order], through: slow });
    const client = await cluster.engine();
    await cluster.world.settle();
    const kept: Array<() => void> = [];
    keep = kept;
    await cluster.world.leap(60_000);
    await client.start(order, undefined, { id: "o-1" });
    calls.splice(0);
    for (const hint of hints) hint();
    await cluster.world.settle();
    expect(calls).not.toContain("claim");
    keep = null;
    for (const release of kept) release();
    expect(await cluster.result(client.run("o-1"))).toBe(1);
  });
});
