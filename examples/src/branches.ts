/**
 * Named parts of a workflow: a join that waits for all branches, a race with a timeout, a loop that stores its state but not all its
 * iterations, and a `try` whose failure is a value.
 */
import { createEngine, Loop, memoryStore, workflow } from "pawl";

const publish = workflow("publish", async (ctx, title: string) => {
  const { text, cover } = await ctx.join("make", {
    text: (c) => c.step("write", () => `text of ${title}`),
    cover: (c) => c.step("draw", () => `cover of ${title}`),
  });

  const review = await ctx.race("review", {
    reader: async (c) => (await c.listen<string>("review")).value,
    clock: async (c) => {
      await c.sleep("1 h");
      return "nobody had time";
    },
  });

  const copies = await ctx.loop({
    name: "print",
    state: 0,
    run: async (c, printed) => {
      if (printed >= 300) return Loop.break(printed);
      return Loop.continue(await c.step("sheet", () => printed + 1));
    },
  });

  const sent = await ctx.try("send", (c) =>
    c.step("by bike", () => Promise.reject(new Error("it rains")), { retry: false }),
  );
  return [
    text,
    cover,
    `${review.winner}: ${review.value}`,
    `${copies} copies`,
    sent.ok ? "sent" : sent.failure.error.message,
  ];
});

const engine = await createEngine({ store: memoryStore(), workflows: [publish] });
const run = await engine.start(publish, "Salt");
await run.send("review", "good");
for (const line of await run.result()) console.log(line);
console.log(`the journal holds fewer than 50 records: ${(await run.journal()).length < 50}`);
await engine.shutdown();
