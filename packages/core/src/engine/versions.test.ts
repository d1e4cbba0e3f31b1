import { describe, expect, it, onTestFinished } from "vitest";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

/** A workflow in two versions. Each returns its version, before and after a wait. */
function versions() {
  const make = (version: number) =>
    workflow("order", { version }, async (ctx, input: string) => {
      const before = await ctx.step("before", () => `${input}${version}`);
      await ctx.listen("go");
      return `${before} ${await ctx.step("after", () => version)}`;
    });
  return { one: make(1), two: make(2) };
}

describe.each(TEST_STORES)("workflow versions on $name", ({ create }) => {
  const open = () => create(onTestFinished);

  it("versions exist side by side: each run keeps the version it was started with", async () => {
    const cluster = await open();
    const { one, two } = versions();
    const engine = await cluster.engine({ workflows: [one, two] });
    const runs = [await engine.start(one, "a"), await engine.start(two, "b")];
    await cluster.world.settle();
    for (const run of runs) await run.send("go", null);
    expect(await Promise.all(runs.map((run) => cluster.result(run)))).toEqual(["a1 1", "b2 2"]);
    const rows = await Promise.all(runs.map(({ id }) => engine.get(id)));
    expect(rows.map((row) => [row?.workflow, row?.version])).toEqual([
      ["order", 1],
      ["order", 2],
    ]);
  });

  it("a run keeps its version, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await open();
      const { one, two } = versions();
      const client = await cluster.engine();
      const engine = await cluster.engine({ workflows: [one, two], crashAt });
      const runs = [await client.start(one, "a"), await client.start(two, "b")];
      for (const run of runs) await run.send("go", null);
      await cluster.world.advance("2 s");
      if (cluster.crashed(engine)) await cluster.takeOver(engine, { workflows: [two, one] });
      expect(await Promise.all(runs.map((run) => cluster.finish(run)))).toEqual(["a1 1", "b2 2"]);
      return cluster.crashed(engine);
    });
    expect(crashes).toBeGreaterThan(2);
  });

  it("a run of a version that no worker has waits until a worker has it", async () => {
    const cluster = await open();
    const { one, two } = versions();
    const first = await cluster.engine({ workflows: [one] });
    const run = await first.start(one, "a");
    await cluster.world.settle();
    const second = await cluster.takeOver(first, { workflows: [two] });
    await second.run(run.id).send("go", null);
    await cluster.world.advance("1 minute");
    expect(await second.get(run.id)).toMatchObject({ status: "suspended", version: 1, owner: null });
    const started = await second.start(one, "c");
    await cluster.world.advance("1 minute");
    expect(await started.status()).toBe("pending");
    const third = await cluster.engine({ workflows: [one, two] });
    await third.run(started.id).send("go", null);
    expect(await cluster.finish(third.run(run.id))).toBe("a1 1");
    expect(await cluster.finish(third.run(started.id))).toBe("c1 1");
  });

  it("children and continuations get the version of the given workflow", async () => {
    const cluster = await open();
    const { one, two } = versions();
    const parent = workflow("parent", async (ctx) => {
      const children = [await ctx.startChild(one, "x", { name: "x" }), await ctx.startChild(two, "y", { name: "y" })];
      for (const child of children) await ctx.send(child.runId, "go", null);
      return await Promise.all(children.map((child) => child.result()));
    });
    const next = workflow("counter", { version: 2 }, async (_ctx, input: number) => `two ${input}`);
    const counter = workflow("counter", async (ctx, input: number): Promise<string> => {
      return input < 2 ? await ctx.continueAs(input + 1) : await ctx.continueAs(next, input + 1);
    });
    const engine = await cluster.engine({ workflows: [parent, one, two, counter, next] });
    expect(await cluster.result(await engine.start(parent, undefined))).toEqual(["x1 1", "y2 2"]);
    const run = await engine.start(counter, 0);
    expect(await cluster.result(run)).toBe("two 3");
    expect(await engine.get(run.id)).toMatchObject({ version: 2, generation: 3 });
  });

  it("a run continued as a version that this worker lacks continues on another worker", async () => {
    const cluster = await open();
    const next = workflow("counter", { version: 2 }, async (ctx, input: number) =>
      ctx.step("tell", () => `two ${input}`),
    );
    const first = workflow("counter", async (ctx, input: number): Promise<string> => await ctx.continueAs(next, input));
    const here = await cluster.engine({ workflows: [first] });
    const run = await here.start(first, 1);
    await cluster.world.advance("1 minute");
    expect(await here.get(run.id)).toMatchObject({ version: 2, owner: null, status: "running", claims: 0 });
    await cluster.engine({ workflows: [next] });
    expect(await cluster.finish(run)).toBe("two 1");
  });

  it("a start with the same id and another version returns the existing run", async () => {
    const cluster = await open();
    const { one, two } = versions();
    const engine = await cluster.engine({ workflows: [one, two] });
    await engine.start(one, "a", { id: "r" });
    const again = await engine.start(two, "a", { id: "r" });
    await again.send("go", null);
    expect(await cluster.result(again)).toBe("a1 1");
  });
});

it("duplicate workflows and invalid versions are rejected", async () => {
  const cluster = await (TEST_STORES[0] ?? expect.unreachable()).create(onTestFinished);
  const { one, two } = versions();
  const twin = workflow("order", { version: 2 }, async () => "");
  await expect(cluster.engine({ workflows: [one, two, twin] })).rejects.toMatchObject({
    code: "WORKFLOW_DUPLICATE",
    message: expect.stringContaining("duplicate workflow order version 2"),
  });
  for (const version of [0, -1, 1.5, Number.NaN, 2 ** 60]) {
    expect(() => workflow("order", { version }, async () => "")).toThrow("must be a positive integer");
  }
});
