import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const leaf = workflow("leaf", async (ctx) => {
  await ctx.step("work", () => 1);
  return (await ctx.listen("go")).value;
});
const tree = workflow(
  "tree",
  async (ctx, depth: number): Promise<unknown> =>
    depth === 0 ? await ctx.child(leaf, undefined) : await ctx.child(tree, depth - 1),
);

describe.each(TEST_STORES)("delete, on the store $name", ({ create }) => {
  it("an ended run is deleted with its journal, and its id can be used again", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [leaf] });
    const run = await engine.start(leaf, undefined, { id: "r" });
    const other = await engine.start(leaf, undefined, { id: "other" });
    for (const each of [run, other]) await each.send("go", "first");
    await cluster.result(run);
    await cluster.result(other);
    await engine.delete("r");
    expect(await engine.get("r")).toBeNull();
    await expect(run.journal()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(await other.result()).toBe("first");
    const again = await engine.start(leaf, undefined, { id: "r" });
    await again.send("go", "second");
    expect(await cluster.result(again)).toBe("second");
    expect(await again.journal()).toHaveLength(2);
  });

  it("an open run and a missing run are not deleted", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.client();
    await client.start(leaf, undefined, { id: "r" });
    await expect(client.delete("r")).rejects.toMatchObject({ code: "RUN_OPEN" });
    await expect(client.delete("none")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(await client.get("r")).toMatchObject({ status: "pending" });
  });

  it("a run with children is deleted only with them, and a child only after the runs above it have ended", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [leaf, tree] });
    const run = await engine.start(tree, 1, { id: "t" });
    await cluster.world.settle();
    const [middle, bottom] = ["t//tree", "t//tree//leaf"];
    await engine.run(bottom).cancel();
    const hold = await engine.start(tree, 0, { id: "open" });
    await cluster.world.settle();
    await expect(engine.delete("t")).rejects.toMatchObject({ code: "RUN_NEEDED" });
    await engine.delete("t", { children: true });
    for (const id of ["t", middle, bottom]) expect(await engine.get(id)).toBeNull();
    await expect(engine.delete("open", { children: true })).rejects.toMatchObject({ code: "RUN_OPEN" });
    expect(await hold.status()).toBe("suspended");
    expect(run.id).toBe("t");
  });
});
