import { describe, expect, it, onTestFinished } from "vitest";
import { type Ctx, type Engine, type Workflow, workflow } from "../index.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

type Code = (ctx: Ctx) => Promise<unknown>;

const before: Code = async (ctx) => {
  const a = await ctx.step("a", () => 1);
  const b = await ctx.step("b", () => 2);
  await ctx.listen("go");
  return [a, b];
};

const deploy = (code: Code): Workflow<undefined, unknown> =>
  workflow("changing", async (ctx, _: undefined) => code(ctx));

/** Executes the first code until it waits, then resumes the run with the second code in another process. */
async function deployOver(cluster: TestCluster, first: Code, second: Code): Promise<{ engine: Engine; runId: string }> {
  const old = await cluster.engine({ workflows: [deploy(first)] });
  const run = await old.start(deploy(first), undefined, { id: "r" });
  await cluster.world.settle();
  await old.shutdown();
  const engine = await cluster.engine({ workflows: [deploy(second)] });
  await engine.send(run.id, "go", null);
  await cluster.world.advance("2 s");
  return { engine, runId: run.id };
}

describe.each(TEST_STORES)("divergence, on the store $name", ({ create }) => {
  const cases: ReadonlyArray<readonly [string, Code, readonly string[]]> = [
    [
      "a different operation at a recorded location",
      async (ctx) => {
        await ctx.step("a", () => 1);
        await ctx.sleep(1, { name: "b" });
        await ctx.listen("go");
      },
      ["at b", "step (record 2)", "sleep at b"],
    ],
    [
      "a removed step",
      async (ctx) => {
        await ctx.step("a", () => 1);
        await ctx.listen("go");
      },
      ["at b", "step (record 2)", "listen at go"],
    ],
    [
      "a new step before a recorded one",
      async (ctx) => {
        await ctx.step("new", () => 0);
        return await before(ctx);
      },
      ["at a", "step (record 1)", "step at new"],
    ],
    [
      "a renamed first step",
      async (ctx) => {
        await ctx.step("renamed", () => 1);
        await ctx.step("b", () => 2);
        await ctx.listen("go");
      },
      ["at a", "step (record 1)", "step at renamed"],
    ],
    [
      "a return before the end of the journal",
      async (ctx) => {
        await ctx.step("a", () => 1);
      },
      ["at b", "step (record 2)", "the code ended without requesting it"],
    ],
    [
      "a throw before the end of the journal",
      async () => {
        throw new Error("new code throws");
      },
      ["at a", "step (record 1)", "the code ended without requesting it"],
    ],
    ["code that requests nothing", async () => await new Promise(() => {}), ["at a", "step (record 1)", "nothing"]],
  ];

  it.each(cases)(
    "%s pauses the run, and the error names the location, the record and the request",
    async (_, code, texts) => {
      const cluster = await create(onTestFinished);
      const { engine, runId } = await deployOver(cluster, before, code);
      const run = await engine.get(runId);
      expect(run?.status).toBe("paused");
      expect(run?.error).toMatchObject({ code: "HISTORY_DIVERGED" });
      for (const text of ["run r", ...texts]) expect(run?.error?.message).toContain(text);
    },
  );

  it.each(cases)("%s leaves the journal unchanged, and the run resumes with compatible code", async (_, code) => {
    const cluster = await create(onTestFinished);
    const { engine, runId } = await deployOver(cluster, before, code);
    expect((await engine.run(runId).journal()).map(({ seq, location, value }) => ({ seq, location, value }))).toEqual([
      { seq: 1, location: "a", value: 1 },
      { seq: 2, location: "b", value: 2 },
    ]);
    await engine.shutdown();
    const fixed = await cluster.engine({ workflows: [deploy(before)] });
    await fixed.resume(runId);
    await cluster.world.advance("2 s");
    expect(await cluster.result(fixed.run(runId))).toEqual([1, 2]);
  });

  it("a change after the last record is not a divergence", async () => {
    const cluster = await create(onTestFinished);
    const { engine, runId } = await deployOver(cluster, before, async (ctx) => [
      await before(ctx),
      await ctx.step("new", () => 3),
    ]);
    expect(await cluster.result(engine.run(runId))).toEqual([[1, 2], 3]);
  });

  it("a diverged run emits run.paused, executes no step and is not claimed again", async () => {
    const cluster = await create(onTestFinished);
    const ran: string[] = [];
    const old = await cluster.engine({ workflows: [deploy(before)] });
    await old.start(deploy(before), undefined, { id: "r" });
    await cluster.world.settle();
    await old.shutdown();
    const wrong = deploy(async (ctx) => ctx.step("x", () => void ran.push("x")));
    const engine = await cluster.engine({ workflows: [wrong] });
    const events: string[] = [];
    for (const kind of ["run.claimed", "run.paused"] as const) engine.on(kind, (event) => events.push(event.kind));
    await engine.send("r", "go", null);
    await cluster.world.advance("30 s");
    expect(events).toEqual(["run.claimed", "run.paused"]);
    expect(ran).toEqual([]);
    expect(
      cluster.log.filter(({ level, fields }) => level === "error" && fields.code === "HISTORY_DIVERGED"),
    ).toHaveLength(1);
  });

  it("a divergence is detected inside concurrent branches, even if Promise.allSettled swallows their errors", async () => {
    const cluster = await create(onTestFinished);
    const wide =
      (names: readonly string[]): Code =>
      async (ctx) => {
        await Promise.allSettled(names.map((name) => ctx.step(name, () => name)));
        await ctx.listen("go");
      };
    const { engine, runId } = await deployOver(cluster, wide(["a", "b", "c"]), wide(["a", "c"]));
    expect((await engine.get(runId))?.error?.message).toContain("at b: the journal has step");
  });

  it("a divergence is detected at the third use of a name", async () => {
    const cluster = await create(onTestFinished);
    const rounds =
      (count: number): Code =>
      async (ctx) => {
        for (let i = 0; i < count; i += 1) await ctx.step("round", () => i);
        await ctx.listen("go");
      };
    const { engine, runId } = await deployOver(cluster, rounds(3), rounds(2));
    expect((await engine.get(runId))?.error?.message).toContain("at round#3");
  });
});
