import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { STAGES } from "../testing/stages.ts";

/** Its deadlines have come before they are written. */
const glances = workflow("glances", async (ctx) => {
  const got = [await ctx.awaitEvent<string>("news", { timeout: 0 }), await ctx.awaitEvent("news", { timeout: 0 })];
  return got.map((each) => (each.timedOut ? "timeout" : each.value));
});

const pair = workflow("pair", async (ctx) => {
  const [a, b] = await Promise.all([
    ctx.awaitEvent<string>("a", { timeout: "10 s" }),
    ctx.awaitEvent<string>("b").then(async (event) => ctx.step("told", () => event.value)),
  ]);
  return [a.timedOut ? "timeout" : a.value, b];
});

describe.each(STAGES)("a wait for an event that is over when it is written, on the store $name", ({ create }) => {
  it("gets the event that was pending; what comes to nothing is a timeout", async () => {
    const stage = await create(onTestFinished);
    const engine = await stage.engine({ workflows: [glances] });
    await engine.emit("news", "was there");
    const run = await engine.start(glances, undefined);
    expect(await stage.result(run)).toEqual(["was there", "timeout"]);
    expect((await run.journal()).map(({ outcome }) => outcome)).toEqual(["ok", "timedOut"]);
  });

  it("does so whenever its worker crashes", async () => {
    await atEachCommit(async (crashAt) => {
      const stage = await create(onTestFinished);
      const client = await stage.client();
      await client.emit("news", "was there");
      const engine = await stage.engine({ workflows: [glances], crashAt });
      const run = await client.start(glances, undefined, { id: "r" });
      await stage.world.advance("2 s");
      const crashed = stage.crashed(engine);
      if (crashed) await stage.takeOver(engine, { workflows: [glances] });
      expect(await stage.result(run)).toEqual(["was there", "timeout"]);
      return crashed;
    });
  });

  it("gets an event that came after another had woken the run, and before it could wait again", async () => {
    const stage = await create(onTestFinished);
    const client = await stage.client();
    const engine = await stage.engine({ workflows: [pair] });
    const run = await client.start(pair, undefined);
    await stage.world.advance("2 s");
    stage.crash(engine);
    expect(await client.emit("b", "first")).toEqual({ kind: "delivered", runs: 1 });
    expect(await client.emit("a", "second")).toMatchObject({ kind: "queued" });
    await stage.world.advance("1 minute");
    await stage.engine({ workflows: [pair] });
    await stage.world.advance("6 s");
    expect(await stage.result(run)).toEqual(["second", "first"]);
  });

  it("gets it while a body beside it runs, and is over when there is none", async () => {
    const stage = await create(onTestFinished);
    let end = (): void => undefined;
    const body = new Promise<void>((resolve) => {
      end = resolve;
    });
    const beside = workflow("beside", async (ctx) => {
      const step = ctx.step("long", () => body);
      const got = [await ctx.awaitEvent<string>("news", { timeout: 0 }), await ctx.awaitEvent("news", { timeout: 0 })];
      const seen = got.map((each) => (each.timedOut ? "timeout" : each.value));
      await ctx.step("note", () => end());
      await step;
      return seen;
    });
    const engine = await stage.engine({ workflows: [beside] });
    await engine.emit("news", "was there");
    const run = await engine.start(beside, undefined);
    await stage.world.advance("1 s");
    expect(await stage.result(run)).toEqual(["was there", "timeout"]);
  });
});
