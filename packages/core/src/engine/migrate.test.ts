import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, type Engine, workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

describe.each(TEST_STORES)("migrating, on the store $name", ({ create }) => {
  const ran: string[] = [];
  const one = workflow("order", { version: 1 }, async (ctx: Ctx) => {
    await ctx.step("old name", () => ran.push("old name"));
    await ctx.step("not needed", () => ran.push("not needed"));
    await ctx.listen("go");
    return await ctx.step("end", () => "one");
  });
  const two = workflow("order", { version: 2 }, async (ctx: Ctx) => {
    await ctx.step("name", () => ran.push("name"));
    await ctx.listen("go");
    return await ctx.step("end", () => "two");
  });
  const MAP = { "old name": "name", "not needed": null };

  async function waiting(cluster: TestCluster): Promise<Engine> {
    ran.length = 0;
    const engine = await cluster.engine({ workflows: [one, two] });
    await engine.start(one, undefined, { id: "r" });
    await cluster.world.settle();
    return engine;
  }

  it("a migrated run continues in another version at the mapped locations, and no step runs again", async () => {
    const cluster = await create(onTestFinished);
    const engine = await waiting(cluster);
    const migration = await engine.migrate("r", 2, MAP, { by: "ann", why: "the name changed" });
    expect(migration).toEqual({ from: 1, to: 2, moved: 1, dropped: 1, finding: null, done: true });
    await cluster.world.settle();
    expect(await engine.get("r")).toMatchObject({ version: 2, status: "suspended" });
    await engine.send("r", "go", null);
    expect(await cluster.finish(engine.run("r"))).toBe("two");
    expect(ran).toEqual(["old name", "not needed"]);
    const journal = await engine.run("r").journal();
    expect(journal.map(({ location }) => location)).toEqual(["name", "~", "go", "end"]);
    expect(journal[1]).toMatchObject({ kind: "operator", detail: "migrate", value: { by: "ann" } });
  });

  it("a migrated run keeps the end time of its sleep", async () => {
    const cluster = await create(onTestFinished);
    const sleeps = (version: number) =>
      workflow("sleeps", { version }, async (ctx: Ctx) => {
        await ctx.step("a", () => 1);
        await ctx.sleep("20 s");
        return ctx.now();
      });
    const engine = await cluster.engine({ workflows: [sleeps(1), sleeps(2)] });
    const run = await engine.start(sleeps(1), undefined, { id: "r" });
    await cluster.world.settle();
    const began = (await run.journal())[0]!.at;
    await cluster.world.advance("10 s");
    await engine.migrate("r", 2);
    await cluster.world.advance("11 s");
    expect(await cluster.result(run)).toBe(began + 20_000);
  });

  it("a dry run of a migration changes nothing and returns the finding", async () => {
    const cluster = await create(onTestFinished);
    const engine = await waiting(cluster);
    const before = await cluster.dump();
    expect(await engine.migrate("r", 2, MAP, { dryRun: true })).toMatchObject({ done: false, finding: null });
    const { finding } = await engine.migrate("r", 2, { "old name": "name" }, { dryRun: true });
    expect(finding).toMatchObject({ kind: "record", location: "not needed", recorded: "step at not needed" });
    expect(await cluster.dump()).toBe(before);
  });

  it("migrate rejects a diverging run, an unknown version and an ended run, and changes nothing", async () => {
    const cluster = await create(onTestFinished);
    const engine = await waiting(cluster);
    const client = await cluster.engine();
    const before = await cluster.dump();
    await expect(engine.migrate("r", 2)).rejects.toMatchObject({ code: "HISTORY_DIVERGED" });
    await expect(engine.migrate("r", 3, MAP)).rejects.toMatchObject({ code: "WORKFLOW_UNKNOWN" });
    await expect(client.migrate("r", 2, MAP)).rejects.toMatchObject({ code: "WORKFLOW_UNKNOWN" });
    await expect(engine.migrate("r", 0, MAP)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(engine.migrate("none", 2)).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(await cluster.dump()).toBe(before);
    await engine.cancel("r");
    await expect(engine.migrate("r", 2, MAP)).rejects.toMatchObject({ code: "RUN_ENDED" });
  });

  it("a migration with the same id is done once", async () => {
    const cluster = await create(onTestFinished);
    const engine = await waiting(cluster);
    const first = await engine.migrate("r", 2, MAP, { id: "once" });
    await cluster.world.settle();
    expect(await engine.migrate("r", 2, MAP, { id: "once" })).toEqual(first);
    const actions = (await engine.run("r").journal()).filter(({ kind }) => kind === "operator");
    expect(actions).toHaveLength(1);
  });

  it("migrate rejects a new location for an open child, and delivers the end of an ended child at its new location", async () => {
    const cluster = await create(onTestFinished);
    const child = workflow("child", async (ctx) => (await ctx.listen<number>("go")).value);
    const parent = (version: number, name: string) =>
      workflow("parent", { version }, async (ctx: Ctx) => {
        const handle = await ctx.startChild(child, undefined, { name });
        await ctx.listen("on");
        return await handle.result();
      });
    const engine = await cluster.engine({ workflows: [child, parent(1, "kid"), parent(2, "child")] });
    const run = await engine.start(parent(1, "kid"), undefined, { id: "p" });
    await cluster.world.settle();
    await expect(engine.migrate("p", 2, { kid: "child" })).rejects.toMatchObject({ code: "CHILD_OPEN" });
    await engine.send("p//kid", "go", 7);
    await cluster.world.settle();
    await engine.migrate("p", 2, { kid: "child" });
    await run.send("on", null);
    expect(await cluster.finish(run)).toBe(7);
  });
});
