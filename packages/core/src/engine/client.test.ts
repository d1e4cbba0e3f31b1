import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { declareWorkflow, message, type Store, workflow } from "../index.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

interface Order {
  readonly id: string;
}

const approve = message<{ by: string }>("approve");
const order = workflow("order", async (ctx, { id }: Order) => {
  await ctx.step("reserve", () => id);
  const { by } = (await ctx.listen(approve)).value;
  const price = (await ctx.awaitEvent<number>("price")).value;
  return `${id} for ${price}, approved by ${by}`;
});
const declared = declareWorkflow<Order, string>("order");

describe.each(TEST_STORES)("clients, on the store $name", ({ create }) => {
  it("a client starts a run without its code, sends, emits, and reads the result that a worker produced", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.client();
    const run = await client.start(declared, { id: "o-1" }, { id: "o-1", tags: ["new"] });
    expect(await run.status()).toBe("pending");
    await cluster.engine({ workflows: [order] });
    await cluster.world.advance("2 s");
    expect(await run.send(approve, { by: "ann" })).toMatchObject({ kind: "delivered" });
    await cluster.world.advance("2 s");
    expect(await client.emit("price", 5)).toMatchObject({ kind: "delivered" });
    const result = run.result();
    await cluster.world.advance("2 s");
    expect(await result).toBe("o-1 for 5, approved by ann");
    expect(await client.get("o-1")).toMatchObject({ status: "completed", output: "o-1 for 5, approved by ann" });
    expect((await client.list({ tag: "new" })).items.map(({ id }) => id)).toEqual(["o-1"]);
  });

  it("a client watches the records of a run as another process commits them", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.client();
    await cluster.engine({ workflows: [order] });
    const run = await client.start(declared, { id: "o-1" });
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { location } of run.watch()) seen.push(location);
    })();
    await cluster.world.advance("2 s");
    expect(seen).toEqual(["reserve"]);
    await client.send(run.id, approve, { by: "ann" });
    await cluster.world.advance("2 s");
    expect(seen).toEqual(["reserve", "approve"]);
    await client.emit("price", 5);
    await cluster.world.advance("4 s");
    await watching;
    expect(seen).toHaveLength(3);
  });

  it("a client cancels, pauses, resumes and rewinds runs", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.client();
    const engine = await cluster.engine({ workflows: [order] });
    const [one, two] = [await client.start(declared, { id: "1" }), await client.start(declared, { id: "2" })];
    await cluster.world.advance("2 s");
    expect(await client.cancel(one.id, "too late")).toBe(true);
    await client.pause(two.id, "wait");
    await cluster.world.advance("2 s");
    expect([await one.status(), await two.status()]).toEqual(["cancelled", "paused"]);
    await client.resume(two.id);
    await client.rewind(two.id, 0);
    await cluster.world.advance("2 s");
    expect(await engine.run(two.id).status()).toBe("suspended");
  });

  it("explain reports noWorker when no live worker has the run's workflow version", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.client();
    const run = await client.start(declareWorkflow<Order>("order", { version: 2 }), { id: "o-2" }, { id: "o-2" });
    await cluster.world.advance("10 s");
    expect((await client.explain("o-2")).why).toMatchObject({ kind: "noWorker", versions: [] });
    await cluster.engine({ workflows: [order] });
    await cluster.world.advance("10 s");
    const { why, workers, sentence } = await client.explain("o-2");
    expect(why).toMatchObject({ kind: "noWorker", versions: [1] });
    expect(workers).toEqual({ live: 1, knowing: 0 });
    expect(sentence).toContain("no live worker has order v2 (workers have v1)");
    await cluster.engine({ workflows: [workflow("order", { version: 2 }, async (_, { id }: Order) => id)] });
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe("o-2");
  });

  it("a client sends no heartbeat, claims nothing, and makes no store call while idle", async () => {
    const cluster = await create(onTestFinished);
    const calls: string[] = [];
    const through = (store: Store): Store =>
      intercepted(store, async ({ method }, proceed) => {
        calls.push(method);
        return await proceed();
      });
    await cluster.engine({ workflows: [order] });
    const client = await cluster.client({ through });
    await client.start(declared, { id: "o-1" }, { id: "o-1" });
    await cluster.world.advance("1 minute");
    // The read compares the codec with the store's.
    expect(calls).toEqual(["open", "read", "commit"]);
    expect((await client.explain("o-1")).workers).toEqual({ live: 1, knowing: 1 });
  });

  it("a client rejects an input that does not match the declared schema, and starts no run", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.client();
    const strict = declareWorkflow("order", { input: z.object({ id: z.string() }) });
    await expect(client.start(strict, { id: 1 } as never, { id: "r" })).rejects.toMatchObject({
      code: "SCHEMA_REFUSED",
    });
    expect(await client.get("r")).toBe(null);
  });

  it("a closed client rejects every call and pending result with ENGINE_STOPPED, and the run continues", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.client();
    const worker = await cluster.engine({ workflows: [order] });
    const run = await client.start(declared, { id: "o-1" }, { id: "o-1" });
    const waiting = run.result().catch((error: { readonly code: string }) => error.code);
    await cluster.world.advance("2 s");
    await client.close();
    expect(await waiting).toBe("ENGINE_STOPPED");
    await expect(client.start(declared, { id: "o-2" })).rejects.toMatchObject({ code: "ENGINE_STOPPED" });
    await expect(client.send("o-1", approve, { by: "ann" })).rejects.toMatchObject({ code: "ENGINE_STOPPED" });
    await worker.send("o-1", approve, { by: "bob" });
    await worker.emit("price", 1);
    await cluster.world.advance("2 s");
    expect(await cluster.result(worker.run("o-1"))).toBe("o-1 for 1, approved by bob");
  });
});

describe("processes with only a client", () => {
  it("a client installs no unhandledRejection listener; an engine with workflows installs one", async () => {
    const before = process.listenerCount("unhandledRejection");
    const [first] = TEST_STORES;
    const cluster = await first!.create(onTestFinished);
    const client = await cluster.client();
    await client.start(declared, { id: "o-1" });
    await cluster.world.advance("2 s");
    expect(process.listenerCount("unhandledRejection")).toBe(before);
    await cluster.engine({ workflows: [order] });
    await cluster.world.advance("2 s");
    expect(process.listenerCount("unhandledRejection")).toBe(before + 1);
  });
});
