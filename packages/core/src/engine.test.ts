import { describe, expect, it } from "vitest";
import { createEngine, memoryStore, workflow } from "./index.ts";

describe("engine", () => {
  it("runs a step and gives the result", async () => {
    const greet = workflow("greet", async (ctx, name: string) => await ctx.step("say", async () => `hello ${name}`));
    const engine = await createEngine({ store: memoryStore(), workflows: [greet] });
    const run = await engine.start(greet, "ann");
    expect(await run.result()).toBe("hello ann");
    await engine.shutdown();
  });
  it("sleeps, listens, retries, starts children", async () => {
    let tries = 0;
    const child = workflow("child", async (ctx, n: number) => {
      await ctx.sleep(5);
      return await ctx.step("double", () => n * 2);
    });
    const parent = workflow("parent", async (ctx, input: { n: number }) => {
      const a = await ctx.step(
        "flaky",
        () => {
          tries += 1;
          if (tries < 3) throw new Error("no");
          return tries;
        },
        { retry: { initialMs: 1 } },
      );
      await ctx.sleep(10);
      const got = await ctx.listen<{ by: string }>("approve", { timeout: "5 s" });
      const late = await ctx.listen("never", { timeout: 5 });
      const c = await ctx.child(child, input.n);
      const [x, y] = await Promise.all([ctx.step("x", async () => 1), ctx.step("y", async () => 2)]);
      return { a, got: got.timedOut ? null : got.value.by, late: late.timedOut, c, x, y };
    });
    const engine = await createEngine({ store: memoryStore(), workflows: [child, parent] });
    const run = await engine.start(parent, { n: 21 });
    expect((await run.send("approve", { by: "ann" })).kind).toMatch(/queued|delivered/);
    expect(await run.result()).toEqual({ a: 3, got: "ann", late: true, c: 42, x: 1, y: 2 });
    expect((await run.journal()).map((r) => `${r.seq} ${r.kind} ${r.location} ${r.outcome}`)).toMatchInlineSnapshot(`
      [
        "1 retry flaky failed",
        "2 retry flaky failed",
        "3 step flaky ok",
        "4 sleep sleep ok",
        "5 listen approve ok",
        "6 listen never timedOut",
        "7 spawn child ok",
        "8 child child/result ok",
        "9 step x ok",
        "10 step y ok",
      ]
    `);
    await engine.shutdown();
  });
});
