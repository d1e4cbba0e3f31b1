import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine, type PawlError, workflow } from "../index.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import { intercepted } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const MEBIBYTE = 1024 * 1024;
const large = (letter: string): string => letter.repeat(MEBIBYTE);
const COUNT = 40;

const steps = workflow("steps", async (ctx) => {
  const all = await Promise.all(
    Array.from({ length: COUNT }, (_, i) => ctx.step(`large ${i}`, () => large("x"), { rollback: () => undefined })),
  );
  await ctx.listen("go");
  return all.reduce((sum, text) => sum + text.length, 0);
});

const inbox = workflow("inbox", async (ctx) => {
  await ctx.listen("go");
  let sum = 0;
  for (let i = 0; i < COUNT; i += 1) sum += (await ctx.listen<string>("large")).value.length;
  return sum;
});

/** An engine whose store notes the text in each commit. */
async function measuredEngine() {
  const commits: number[] = [];
  const store = intercepted(memoryStore(), async (call, proceed) => {
    if (call.method === "commit") commits.push(JSON.stringify(call.batch).length);
    return await proceed();
  });
  const engine = await createEngine({ store, workflows: [steps, inbox], log: () => undefined });
  onTestFinished(() => engine.shutdown());
  return { engine, commits };
}

describe("batches of large values", () => {
  it("many large step results of one run are committed in batches of bounded size", async () => {
    const { engine, commits } = await measuredEngine();
    const run = await engine.start(steps, undefined);
    await engine.send(run.id, "go", null);
    expect(await run.result()).toBe(COUNT * MEBIBYTE);
    expect(Math.max(...commits)).toBeLessThan(17 * MEBIBYTE);
    expect((await run.journal()).map(({ seq }) => seq)).toEqual(Array.from({ length: COUNT + 1 }, (_, i) => i + 1));
  });

  it("many large messages are committed in batches of bounded size", async () => {
    const { engine, commits } = await measuredEngine();
    const run = await engine.start(inbox, undefined);
    await Promise.all(Array.from({ length: COUNT }, () => engine.send(run.id, "large", large("y"))));
    await engine.send(run.id, "go", null);
    expect(await run.result()).toBe(COUNT * MEBIBYTE);
    expect(Math.max(...commits)).toBeLessThan(17 * MEBIBYTE);
  });

  it("an engine refuses a payload limit that a store could not hold", async () => {
    const refused = createEngine({ store: memoryStore(), workflows: [], payloadBytesMax: 2 ** 30 });
    await expect(refused).rejects.toThrow(expect.objectContaining<Partial<PawlError>>({ code: "OPTION_INVALID" }));
  });
});

describe.each(TEST_STORES)("large values, on the store $name", ({ create }) => {
  it("a run with many large results and messages continues on another worker", async () => {
    const cluster = await create(onTestFinished);
    const one = await cluster.engine({ workflows: [steps, inbox], log: () => undefined });
    const run = await one.start(steps, undefined, { id: "steps" });
    const other = await one.start(inbox, undefined, { id: "inbox" });
    await Promise.all(Array.from({ length: COUNT }, () => one.send(other.id, "large", large("y"))));
    await cluster.world.advance("1 s");
    await one.shutdown();
    const two = await cluster.engine({ workflows: [steps, inbox], log: () => undefined });
    await two.send(run.id, "go", null);
    await two.send(other.id, "go", null);
    await cluster.world.advance("5 s");
    expect(await cluster.result(two.run(run.id))).toBe(COUNT * MEBIBYTE);
    expect(await cluster.result(two.run(other.id))).toBe(COUNT * MEBIBYTE);
  });
});
