import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

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

describe.each(TEST_STORES)("a wait for an event that is over when it is written, on the store $name", ({ create }) => {
  it("gets the event that was pending; what comes to nothing is a timeout", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [glances] });
    await engine.emit("news", "was there");
    const run = await engine.start(glances, undefined);
    expect(await cluster.result(run)).toEqual(["was there", "timeout"]);
    expect((await run.journal()).map(({ outcome }) => outcome)).toEqual(["ok", "timedOut"]);
  });

  it("does so whenever its worker crashes", async () => {
    await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const client = await cluster.client();
      await client.emit("news", "was there");
      const engine = await cluster.engine({ workflows: [glances], crashAt });
      const run = await client.start(glances, undefined, { id: "r" });
      await cluster.world.advance("2 s");
      const crashed = cluster.crashed(engine);
      if (crashed) await cluster.takeOver(engine, { workflows: [glances] });
      expect(await cluster.result(run)).toEqual(["was there", "timeout"]);
      return crashed;
    });
  });

  it("gets an event that came after another had woken the run, and before it could wait again", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.client();
    const engine = await cluster.engine({ workflows: [pair] });
    const run = await client.start(pair, undefined);
    await cluster.world.advance("2 s");
    cluster.crash(engine);
    expect(await client.emit("b", "first")).toEqual({ kind: "delivered", runs: 1 });
    expect(await client.emit("a", "second")).toMatchObject({ kind: "queued" });
    await cluster.world.advance("1 minute");
    await cluster.engine({ workflows: [pair] });
    await cluster.world.advance("6 s");
    expect(await cluster.result(run)).toEqual(["second", "first"]);
  });

  it("gets it while a body beside it runs, and is over when there is none", async () => {
    const cluster = await create(onTestFinished);
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
    const engine = await cluster.engine({ workflows: [beside] });
    await engine.emit("news", "was there");
    const run = await engine.start(beside, undefined);
    await cluster.world.advance("1 s");
    expect(await cluster.result(run)).toEqual(["was there", "timeout"]);
  });
});
