import { describe, expect, it, onTestFinished } from "vitest";
import { Loop, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** More records than a store reads at a time. */
const ROUNDS = 50;
const WIDTH = 100;

/** Batches of concurrent steps, then a loop whose iterations are kept. Counts how often each step body was executed. */
function longWork() {
  const ran = new Map<string, number>();
  const body = (name: string, value: number) => (): number => {
    ran.set(name, (ran.get(name) ?? 0) + 1);
    return value;
  };
  const long = workflow("long", async (ctx) => {
    let sum = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const names = Array.from({ length: WIDTH }, (_, n) => `${round}-${n}`);
      const values = await Promise.all(names.map((name, n) => ctx.step(name, body(name, n))));
      sum += values.reduce((total, value) => total + value, 0);
    }
    const version = await ctx.getVersion("later", 2);
    const looped = await ctx.loop({
      name: "count",
      state: 0,
      run: async (c, state) => {
        const next = state + (await c.step("one", body("one", 1)));
        return next < 5 ? Loop.continue(next) : Loop.break(next);
      },
    });
    await ctx.listen("go");
    return { sum, version, looped };
  });
  return { long, ran };
}

const SUM = (ROUNDS * WIDTH * (WIDTH - 1)) / 2;

describe.each(TEST_STORES)("journals with thousands of records, on the store $name", ({ create }) => {
  it("a journal of thousands of records is replayed completely, after a crash and after a rewind", async () => {
    const cluster = await create(onTestFinished);
    const { long, ran } = longWork();
    const engine = await cluster.engine({ workflows: [long] });
    const run = await engine.start(long, undefined, { id: "long" });
    await cluster.world.settle();
    await cluster.world.advance("1 s");
    expect(await run.status()).toBe("suspended");
    const journal = await run.journal();
    expect(journal.length).toBeGreaterThan(ROUNDS * WIDTH);
    expect(journal.map(({ seq }) => seq)).toEqual(journal.map((_, index) => index + 1));

    const successor = await cluster.takeOver(engine, { workflows: [long] });
    await successor.rewind("long", `${ROUNDS - 1}-0`, { by: "ann" });
    await cluster.world.settle();
    await cluster.world.advance("1 s");
    const last = await cluster.takeOver(successor, { workflows: [long] });
    await last.send("long", "go", null);
    const ended = last.run("long");
    expect(await cluster.finish(ended)).toEqual({ sum: SUM, version: 2, looped: 5 });
    const again = [...ran].filter(([, count]) => count > 1).map(([name]) => name);
    expect(ran.get("0-0")).toBe(1);
    expect(again.every((name) => name.startsWith(`${ROUNDS - 1}-`) || name === "one")).toBe(true);
    expect((await ended.journal()).filter(({ kind }) => kind === "operator")).toHaveLength(1);
  });
});
