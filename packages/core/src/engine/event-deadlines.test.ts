import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** Its deadlines have passed before the waits are written. */
const immediate = workflow("immediate", async (ctx) => {
  const got = [await ctx.awaitEvent<string>("news", { timeout: 0 }), await ctx.awaitEvent("news", { timeout: 0 })];
  return got.map((each) => (each.timedOut ? "timeout" : each.value));
});

const pair = workflow("pair", async (ctx) => {
  const [a, b] = await Promise.all([
    ctx.awaitEvent<string>("a", { timeout: "10 s" }),
    ctx.awaitEvent<string>("b").then(async (event) => ctx.step("received", () => event.value)),
  ]);
  return [a.timedOut ? "timeout" : a.value, b];
});

describe.each(TEST_STORES)(
  "event waits whose deadline has passed when they are written, on the store $name",
  ({ create }) => {
    it("a wait with timeout 0 receives a pending event, and times out if there is none", async () => {
      const cluster = await create(onTestFinished);
      const engine = await cluster.engine({ workflows: [immediate] });
      await engine.emit("news", "was there");
      const run = await engine.start(immediate, undefined);
      expect(await cluster.result(run)).toEqual(["was there", "timeout"]);
      expect((await run.journal()).map(({ outcome }) => outcome)).toEqual(["ok", "timedOut"]);
    });

    it("a wait with timeout 0 receives a pending event, whichever commit its worker crashes at", async () => {
      await atEachCommit(async (crashAt) => {
        const cluster = await create(onTestFinished);
        const client = await cluster.client();
        await client.emit("news", "was there");
        const engine = await cluster.engine({ workflows: [immediate], crashAt });
        const run = await client.start(immediate, undefined, { id: "r" });
        await cluster.world.advance("2 s");
        const crashed = cluster.crashed(engine);
        if (crashed) await cluster.takeOver(engine, { workflows: [immediate] });
        expect(await cluster.result(run)).toEqual(["was there", "timeout"]);
        return crashed;
      });
    });

    it("a wait receives an event emitted while the run was already woken by another, even after its deadline", async () => {
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

    it("a wait with timeout 0 receives a pending event, or times out, while a step body runs", async () => {
      const cluster = await create(onTestFinished);
      let end = (): void => undefined;
      const body = new Promise<void>((resolve) => {
        end = resolve;
      });
      const beside = workflow("beside", async (ctx) => {
        const step = ctx.step("long", () => body);
        const got = [
          await ctx.awaitEvent<string>("news", { timeout: 0 }),
          await ctx.awaitEvent("news", { timeout: 0 }),
        ];
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
  },
);
