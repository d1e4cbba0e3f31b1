import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

describe.each(TEST_STORES)("claiming, on the store $name", ({ create }) => {
  it("takes up a run whose claim was answered to nobody, though a session from before rests here", async () => {
    const cluster = await create(onTestFinished);
    const undone: string[] = [];
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => 1, { rollback: () => void undone.push("charge") });
      await ctx.listen("approve");
    });
    let isLost = false;
    const unheard = (store: Store): Store =>
      intercepted(store, async (call, proceed) => {
        const answer = await proceed();
        if (!isLost || call.method !== "claim" || !Array.isArray(answer) || answer.length === 0) return answer;
        isLost = false;
        throw new StoreError("STORE_UNAVAILABLE", "unknown", "broke before the answer");
      });
    const engine = await cluster.engine({ workflows: [order], through: unheard });
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

  it("comes after the store has heard that the worker lives, whatever hints come before", async () => {
    const cluster = await create(onTestFinished);
    const order = workflow("order", async (ctx) => await ctx.step("charge", () => 1));
    const client = await cluster.engine();
    await client.start(order, undefined, { id: "o-1" });
    const calls: string[] = [];
    let hear: (() => void) | null = null;
    const slow = (store: Store): Store => ({
      ...intercepted(store, async ({ method }, proceed) => {
        if (method === "heartbeat" && hear === null) await new Promise<void>((resolve) => (hear = resolve));
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
    (hear as (() => void) | null)?.();
    await opened;
    expect(await cluster.result(client.run("o-1"))).toBe(1);
  });

  it("of an engine that could not begin is left to others, and its store is closed", async () => {
    const cluster = await create(onTestFinished);
    const order = workflow("order", async () => "done");
    const calls: string[] = [];
    const deaf = (store: Store): Store =>
      intercepted(store, async (call, proceed) => {
        calls.push(call.method);
        if (call.method === "heartbeat") throw new StoreError("STORE_UNAVAILABLE", "unknown", "not there");
        return await proceed();
      });
    const client = await cluster.engine();
    const failed = cluster.engine({ workflows: [order], through: deaf }).catch((error: unknown) => error);
    await cluster.world.advance("1 hour");
    expect(await failed).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(calls.at(-1)).toBe("close");
    await client.start(order, undefined, { id: "o-1" });
    await cluster.world.advance("10 s");
    expect(calls.at(-1)).toBe("close");
    expect(await client.run("o-1").status()).toBe("pending");
  });

  it("of what it has started is not done again when the answer to the start comes after the run's end", async () => {
    const cluster = await create(onTestFinished);
    const begun: string[] = [];
    const order = workflow("order", async (ctx) => ctx.step("charge", () => void begun.push(ctx.runId)));
    let answer = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const slow = (store: Store): Store =>
      intercepted(store, async ({ batch }, proceed) => {
        const done = await proceed();
        if (batch.some(({ kind }) => kind === "create")) await late;
        return done;
      });
    const engine = await cluster.engine({ workflows: [order], through: slow });
    const client = await cluster.engine();
    const started = engine.start(order, undefined, { id: "o-1" });
    await cluster.world.advance("5 s");
    expect(begun).toEqual(["o-1"]);
    expect(await client.cancel("o-1")).toBe(true);
    await cluster.world.advance("5 s");
    answer();
    await started;
    await cluster.world.advance("5 s");
    expect(begun).toEqual(["o-1"]);
    expect(await client.run("o-1").status()).toBe("cancelled");
  });

  it("comes after a beat where the lease may be over, whatever hints come before", async () => {
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
    for (const beat of kept) beat();
    expect(await cluster.result(client.run("o-1"))).toBe(1);
  });
});
