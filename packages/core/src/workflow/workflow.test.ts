import { expect, it, onTestFinished } from "vitest";
import { type AnyWorkflow, createEngine, memoryStore, workflow } from "../index.ts";

const refusal = expect.objectContaining({ code: "OPTION_INVALID" });

it("a workflow without a function is rejected", () => {
  expect(() => workflow("idle", {}, undefined as never)).toThrow(refusal);
});

it.each<[unknown]>([["greet"], [null], [async () => 1], [{ name: "greet" }]])(
  "%s is not a workflow: it can be neither registered nor started",
  async (none) => {
    const bad = none as AnyWorkflow;
    const parent = workflow("parent", async (ctx) => await ctx.child(bad, undefined));
    const engine = await createEngine({ store: memoryStore(), workflows: [parent] });
    onTestFinished(() => engine.shutdown());
    await expect(engine.start(bad, undefined)).rejects.toThrow(refusal);
    await expect(createEngine({ store: memoryStore(), workflows: [bad] })).rejects.toThrow(refusal);
    const run = await engine.start(parent, undefined);
    await expect(run.result()).rejects.toMatchObject({ code: "RUN_FAILED", cause: refusal });
    expect((await engine.list()).items).toHaveLength(1);
  },
);
