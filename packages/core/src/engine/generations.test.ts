import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine, workflow } from "../index.ts";
import { sqliteStore } from "../store/sqlite/index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const echo = workflow("echo", async (ctx, input: string) => ({
  input,
  id: ctx.runId,
  uuid: ctx.uuid(),
  step: await ctx.step("work", () => `worked on ${input}`),
}));
const asks = workflow("asks", async (ctx, input: string) => `${input} ${(await ctx.listen("go")).value}`);

const again = { id: "order-1", onConflict: "restart" } as const;

describe.each(TEST_STORES)("runs that start again, on the store $name", ({ create }) => {
  const open = () => create(onTestFinished);

  it("a start with restart begins the next generation of an ended run, and the ended one stays readable", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [echo] });
    const first = await engine.start(echo, "one", { ...again, tags: ["a"] });
    const one = await cluster.result(first);
    const second = await engine.start(echo, "two", { ...again, tags: ["b"] });
    const two = await cluster.result(second);
    expect([second.id, two.input, two.id, two.step]).toEqual(["order-1", "two", "order-1", "worked on two"]);
    expect(two.uuid).not.toBe(one.uuid);
    expect(await engine.get("order-1")).toMatchObject({ generation: 1, tags: ["b"], input: "two" });
    const ended = engine.run(echo, "order-1", { generation: 0 });
    expect(await ended.result()).toEqual(one);
    expect((await ended.journal()).map(({ location }) => location)).toEqual(["work"]);
    expect(await engine.get(ended.id)).toMatchObject({ status: "completed", generation: 0, tags: ["a"], input: "one" });
    const third = await engine.start(echo, "three", again);
    expect((await cluster.result(third)).input).toBe("three");
    expect((await engine.run(echo, "order-1", { generation: 1 }).result()).input).toBe("two");
  });

  it("a failed and a cancelled run start again too, with the code of another workflow", async () => {
    const cluster = await open();
    const fails = workflow("fails", async (ctx) => {
      await ctx.step("charge", () => "charged", { rollback: () => undefined });
      throw new Error("declined");
    });
    const engine = await cluster.engine({ workflows: [fails, asks, echo] });
    await cluster.failure(await engine.start(fails, undefined, again));
    const asking = await engine.start(asks, "x", again);
    await cluster.world.settle();
    await engine.cancel(asking.id);
    expect((await cluster.result(await engine.start(echo, "y", again))).input).toBe("y");
    const client = await cluster.client();
    expect(await client.run(fails, "order-1", { generation: 0 }).status()).toBe("failed");
    expect(await engine.run("order-1", { generation: 1 }).status()).toBe("cancelled");
    expect((await engine.explain("order-1//~generation/0")).sentence).toContain("declined");
  });

  it("several callers that restart a run at once get one new generation", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [asks] });
    const first = await engine.start(asks, "a", again);
    await cluster.world.settle();
    await engine.send(first.id, "go", 1);
    await cluster.result(first);
    const callers = [
      engine,
      await cluster.engine({ workflows: [asks] }),
      await cluster.client(),
      await cluster.client(),
    ];
    const runs = await Promise.all(callers.map((caller) => caller.start(asks, "b", again)));
    await cluster.world.settle();
    expect(new Set(runs.map(({ id }) => id))).toEqual(new Set(["order-1"]));
    expect(await engine.get("order-1")).toMatchObject({ generation: 1, input: "b" });
    expect(await engine.get("order-1//~generation/1")).toBe(null);
    for (const options of [again, { id: "order-1" }])
      await expect(engine.start(asks, "c", options)).rejects.toMatchObject({ code: "RUN_EXISTS" });
    await engine.send("order-1", "go", 2);
    // Another worker may have the run.
    expect(await cluster.finish(engine.run("order-1"))).toBe("b 2");
  });

  it("a restart of an open run is a conflict if its workflow differs, or its first input", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [asks, echo] });
    const run = await engine.start(asks, "a", again);
    await cluster.world.settle();
    for (const start of [engine.start(asks, "b", again), engine.start(echo, "a", again)])
      await expect(start).rejects.toMatchObject({ code: "RUN_EXISTS" });
    expect((await engine.start(asks, "a", again)).id).toBe(run.id);
    expect(await engine.get(run.id)).toMatchObject({ generation: 0, status: "suspended" });
  });

  it("a child cannot be started again under its id", async () => {
    const cluster = await open();
    const parent = workflow("parent", async (ctx) => await ctx.child(echo, "below"));
    const engine = await cluster.engine({ workflows: [parent, echo] });
    await cluster.result(await engine.start(parent, undefined, { id: "p" }));
    const [child] = (await engine.list({ parent: "p" })).items;
    const op = { ...again, id: String(child?.id) };
    await expect(engine.start(echo, "below", op)).rejects.toMatchObject({ code: "ID_INVALID" });
  });

  it("nothing of an ended generation reaches the next one: not messages, not children, not waiting callers", async () => {
    const cluster = await open();
    const slow = workflow("slow", async (ctx) => (await ctx.listen("finish")).value);
    const order = workflow("order", async (ctx, input: string) => {
      const child = await ctx.startChild(slow, undefined, { name: "below" });
      const { value } = await ctx.listen<string>("go");
      return input === "two" ? `${input} ${value} ${await child.result()}` : `${input} ${value}`;
    });
    const engine = await cluster.engine({ workflows: [order, slow] });
    const client = await cluster.client();
    const first = await client.start(order, "one", again);
    await cluster.world.advance("2 s");
    const waiting = client.run<string>("order-1").result();
    const watched: string[] = [];
    const watching = (async () => {
      for await (const { location } of client.run("order-1").watch()) watched.push(location);
    })();
    await engine.send(first.id, "go", "first", { id: "m1" });
    await engine.send(first.id, "note", "left", { id: "m2" });
    await cluster.world.settle();
    await engine.start(order, "two", again);
    await cluster.world.settle();
    expect(await engine.send("order-1", "go", "repeated", { id: "m1" })).toMatchObject({ kind: "duplicate" });
    await engine.send("order-1//below", "finish", "old child");
    await cluster.world.advance("5 s");
    expect(await engine.get("order-1")).toMatchObject({ status: "suspended", generation: 1 });
    expect(await waiting).toBe("one first");
    await watching;
    expect(watched).toEqual(["below", "go"]);
    await engine.send("order-1", "go", "second");
    await cluster.world.settle();
    const { waits } = await engine.explain("order-1");
    await engine.send(String(waits[0]?.children[0]?.runId), "finish", "new child");
    expect(await cluster.result(engine.run("order-1"))).toBe("two second new child");
    expect((await engine.deadLetters.list()).items.map(({ name }) => name)).toEqual(["note"]);
  });

  it("a worker that lost the ended generation cannot write to the next one", async () => {
    const cluster = await open();
    const lost = await cluster.engine({ workflows: [asks] });
    const run = await lost.start(asks, "a", again);
    await cluster.world.settle();
    const successor = await cluster.takeOver(lost, { workflows: [asks] });
    await successor.cancel(run.id);
    await successor.start(asks, "b", again);
    await cluster.world.settle();
    await successor.send(run.id, "go", "now");
    expect(await cluster.result(successor.run(run.id))).toBe("b now");
  });

  it("an ended generation that was replaced can be forked, and not be reopened", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [echo] });
    const one = await cluster.result(await engine.start(echo, "one", again));
    await cluster.result(await engine.start(echo, "two", again));
    const ended = engine.run("order-1", { generation: 0 });
    await expect(ended.rewind(0)).rejects.toMatchObject({ code: "RUN_REPLACED" });
    await expect(ended.retry()).rejects.toMatchObject({ code: "RUN_REPLACED" });
    expect(await ended.cancel()).toBe(false);
    const fork = await engine.fork(ended.id, null, { id: "copy" });
    const { uuid, step } = (await cluster.result(fork)) as typeof one;
    expect([uuid, step]).toEqual([one.uuid, one.step]);
  });

  it("a restart with a delay starts later, and its deadline counts from the restart", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [asks, echo] });
    const late = await engine.start(asks, "a", { ...again, deadline: "1 minute" });
    await cluster.world.advance("1 minute");
    await cluster.failure(late);
    const run = await engine.start(echo, "b", { ...again, delay: "10 s", deadline: "1 minute" });
    await cluster.world.advance("9 s");
    expect(await run.status()).toBe("pending");
    await cluster.world.advance("1 s");
    expect((await cluster.result(run)).input).toBe("b");
  });

  it("a run that waits for another by id gets the end of the generation that it has seen", async () => {
    const cluster = await open();
    const waits = workflow("waits", async (ctx) => await ctx.result("order-1"));
    const engine = await cluster.engine({ workflows: [asks, waits] });
    await engine.start(asks, "a", again);
    await cluster.world.settle();
    const waiter = await engine.start(waits, undefined);
    await cluster.world.settle();
    await engine.send("order-1", "go", "first");
    await cluster.world.settle();
    await engine.start(asks, "b", again);
    expect(await cluster.finish(waiter)).toBe("a first");
  });

  it("a generation that is not an ended one is not found", async () => {
    const cluster = await open();
    const engine = await cluster.engine({ workflows: [echo] });
    const run = await engine.start(echo, "one", again);
    await cluster.result(run);
    const missing = engine.run(run.id, { generation: 7 });
    await expect(missing.status()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    for (const options of [{ generation: -1 }, { generation: 1.5 }, { generations: 1 }])
      expect(() => engine.run(run.id, options as never)).toThrow(/generation/);
  });
});

it("a restart within a transaction of the caller is rejected, and changes nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-"));
  const store = sqliteStore(join(folder, "tx.db"));
  const engine = await createEngine({ store, workflows: [echo] });
  const database = await store.database();
  database.exec("BEGIN IMMEDIATE");
  await expect(engine.start(echo, "a", { ...again, tx: database })).rejects.toMatchObject({
    code: "OPTION_INVALID",
    message: expect.stringContaining("after the commit"),
  });
  database.exec("ROLLBACK");
  expect((await engine.list()).items).toEqual([]);
  await engine.shutdown();
  database.close();
  rmSync(folder, { recursive: true, force: true });
});
